//! Reads `#[entity(…)]`, `#[field(…)]` and `#[field_enum(…)]`.

use proc_macro2::{Span, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Lit, LitStr, Meta, Path, Result, Token, parenthesized, token};

use crate::context::Context;

/// A value and where it was written.
#[derive(Clone)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// `#[entity(…)]`.
#[derive(Default)]
pub(crate) struct KindAttributes {
    pub(crate) name: Once<Spanned<String>>,
    pub(crate) hidden: Once<Span>,
    pub(crate) ephemeral: Once<Span>,
    pub(crate) owner: Once<Ident>,
    pub(crate) random_ids: Once<()>,
    /// In milliseconds.
    pub(crate) history: Once<u32>,
    pub(crate) krate: Once<Path>,
}

/// `#[field(…)]`.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) name: Once<Spanned<String>>,
    pub(crate) writable: Once<Span>,
    pub(crate) coarse: Once<Span>,
    pub(crate) quantize: Once<Quantize>,
}

/// `quantize(…)`.
pub(crate) struct Quantize {
    pub(crate) span: Span,
    pub(crate) step: Spanned<f64>,
    pub(crate) min: Spanned<f64>,
    pub(crate) max: Spanned<f64>,
}

/// What a key gave. The key counts as given even where its value was a mistake.
pub(crate) struct Once<T> {
    given: bool,
    value: Option<T>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once { given: false, value: None }
    }
}

impl<T> Once<T> {
    /// Notes that the key is there. Returns false where it was there before, which is a mistake.
    fn mark(&mut self, cx: &mut Context, key: &Ident) -> bool {
        if self.given {
            cx.error(key.span(), format_args!("`{key}` stands here twice: leave one"));
        }
        !std::mem::replace(&mut self.given, true)
    }

    /// Takes the value that `read` finds.
    fn set(&mut self, cx: &mut Context, key: &Ident, read: impl FnOnce() -> Result<T>) -> Result<()> {
        let first = self.mark(cx, key);
        let value = read()?;
        if first {
            self.value = Some(value);
        }
        Ok(())
    }

    /// Whether the key was there, with a good value or not.
    pub(crate) fn is_given(&self) -> bool {
        self.given
    }

    /// The value.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// The value, taken.
    pub(crate) fn take(self) -> Option<T> {
        self.value
    }
}

impl KindAttributes {
    pub(crate) fn read(cx: &mut Context, attributes: &[Attribute]) -> Self {
        let mut found = KindAttributes::default();
        misplaced(cx, attributes, "field", "`#[field(…)]` goes on a field; the struct takes `#[entity(…)]`");
        each_key(cx, attributes, "entity", |cx, key, input| match key.to_string().as_str() {
            "name" => found.name.set(cx, key, || string(key, input, "name = \"…\"")),
            "hidden" => found.hidden.set(cx, key, || flag(key, input)),
            "ephemeral" => found.ephemeral.set(cx, key, || flag(key, input)),
            "owner" => found.owner.set(cx, key, || {
                value(key, input, "owner = field")?;
                let ident = input.call(Ident::parse_any);
                ident.map_err(|e| Error::new(e.span(), "`owner` takes a field's name: `owner = field`"))
            }),
            "ids" => found.random_ids.set(cx, key, || random_ids(key, input)),
            "history" => found.history.set(cx, key, || duration(key, input)),
            "crate" => found.krate.set(cx, key, || path(key, input)),
            _ => Err(unknown(key, "#[entity(…)]", "name, hidden, ephemeral, owner, ids, history and crate")),
        });
        found
    }
}

impl FieldAttributes {
    pub(crate) fn read(cx: &mut Context, attributes: &[Attribute]) -> Self {
        let mut found = FieldAttributes::default();
        misplaced(cx, attributes, "entity", "`#[entity(…)]` goes on the struct; a field takes `#[field(…)]`");
        each_key(cx, attributes, "field", |cx, key, input| match key.to_string().as_str() {
            "name" => found.name.set(cx, key, || string(key, input, "name = \"…\"")),
            "writable" => found.writable.set(cx, key, || flag(key, input)),
            "coarse" => found.coarse.set(cx, key, || flag(key, input)),
            "quantize" => {
                let first = found.quantize.mark(cx, key);
                let range = Quantize::read(cx, key, input)?;
                if first {
                    found.quantize.value = range;
                }
                Ok(())
            }
            _ => Err(unknown(key, "#[field(…)]", "name, writable, coarse and quantize")),
        });
        found
    }
}

/// The `crate = "…"` of `#[field_enum(…)]`.
pub(crate) fn enum_crate(cx: &mut Context, attributes: &[Attribute]) -> Option<Path> {
    let mut krate = Once::default();
    each_key(cx, attributes, "field_enum", |cx, key, input| match key.to_string().as_str() {
        "crate" => krate.set(cx, key, || path(key, input)),
        _ => Err(unknown(key, "#[field_enum(…)]", "crate")),
    });
    krate.take()
}

/// Reports each attribute of a name that has no place here.
pub(crate) fn misplaced(cx: &mut Context, attributes: &[Attribute], name: &str, message: &str) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
        cx.error(span_of(attribute.path()), message);
    }
}

const QUANTIZE: &str = "quantize(step = 0.01, min = -1000.0, max = 1000.0)";

impl Quantize {
    /// `None` where a part is missing or wrong, which is then reported.
    fn read(cx: &mut Context, key: &Ident, input: ParseStream<'_>) -> Result<Option<Self>> {
        if !input.peek(token::Paren) {
            return Err(Error::new(key.span(), format_args!("`quantize` needs its range: `{QUANTIZE}`")));
        }
        let content;
        parenthesized!(content in input);
        let (mut step, mut min, mut max) = (Once::default(), Once::default(), Once::default());
        keys(cx, &content, &mut |cx, key, input| match key.to_string().as_str() {
            "step" => step.set(cx, key, || number(key, input)),
            "min" => min.set(cx, key, || number(key, input)),
            "max" => max.set(cx, key, || number(key, input)),
            _ => Err(unknown(key, "quantize(…)", "step, min and max")),
        });
        let parts = [("step", &step), ("min", &min), ("max", &max)];
        let missing: Vec<_> = parts.iter().filter(|(_, part)| !part.given).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            cx.error(key.span(), format_args!("`quantize` lacks {}: `{QUANTIZE}`", missing.join(" and ")));
        }
        Ok(match (step.take(), min.take(), max.take()) {
            (Some(step), Some(min), Some(max)) => Some(Quantize { span: key.span(), step, min, max }),
            _ => None,
        })
    }
}

/// Calls `read` for each key of every attribute called `name`.
fn each_key(
    cx: &mut Context,
    attributes: &[Attribute],
    name: &str,
    mut read: impl FnMut(&mut Context, &Ident, ParseStream<'_>) -> Result<()>,
) {
    for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
        let parsed = match &attribute.meta {
            Meta::List(list) => list.parse_args_with(|input: ParseStream<'_>| {
                keys(cx, input, &mut read);
                Ok(())
            }),
            Meta::Path(_) | Meta::NameValue(_) => {
                let message = format!("`{name}` takes its keys in parentheses: `#[{name}(…)]`");
                Err(Error::new(span_of(attribute.path()), message))
            }
        };
        if let Err(error) = parsed {
            cx.push(error);
        }
    }
}

/// Calls `read` for each key between commas, and goes on at the next comma after a mistake.
fn keys(
    cx: &mut Context,
    input: ParseStream<'_>,
    read: &mut dyn FnMut(&mut Context, &Ident, ParseStream<'_>) -> Result<()>,
) {
    while !input.is_empty() {
        if let Err(error) = one_key(cx, input, read) {
            cx.push(error);
            while !input.is_empty() && !input.peek(Token![,]) {
                let _ = input.parse::<TokenTree>();
            }
        }
        let _ = input.parse::<Option<Token![,]>>();
    }
}

fn one_key(
    cx: &mut Context,
    input: ParseStream<'_>,
    read: &mut dyn FnMut(&mut Context, &Ident, ParseStream<'_>) -> Result<()>,
) -> Result<()> {
    let key = input.call(Ident::parse_any).map_err(|e| Error::new(e.span(), "a key belongs here"))?;
    read(cx, &key, input)?;
    if input.is_empty() || input.peek(Token![,]) {
        Ok(())
    } else {
        Err(input.error(format_args!("expected `,` after `{key}`")))
    }
}

fn unknown(key: &Ident, place: &str, known: &str) -> Error {
    Error::new(key.span(), format_args!("unknown key `{key}`: `{place}` knows {known}"))
}

/// Reads the `=` after a key.
fn value(key: &Ident, input: ParseStream<'_>, form: &str) -> Result<()> {
    if !input.peek(Token![=]) {
        return Err(Error::new(key.span(), format_args!("`{key}` needs a value: `{form}`")));
    }
    input.parse::<Token![=]>().map(drop)
}

fn flag(key: &Ident, input: ParseStream<'_>) -> Result<Span> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(key.span());
    }
    Err(Error::new(key.span(), format_args!("`{key}` takes no value: write `{key}` alone or leave it out")))
}

fn string_literal(key: &Ident, input: ParseStream<'_>, form: &str) -> Result<LitStr> {
    value(key, input, form)?;
    let literal = input.parse::<LitStr>();
    literal.map_err(|e| Error::new(e.span(), format_args!("`{key}` takes a string: `{form}`")))
}

fn string(key: &Ident, input: ParseStream<'_>, form: &str) -> Result<Spanned<String>> {
    let literal = string_literal(key, input, form)?;
    Ok(Spanned { value: literal.value(), span: literal.span() })
}

fn random_ids(key: &Ident, input: ParseStream<'_>) -> Result<()> {
    let literal = string_literal(key, input, "ids = \"random\"")?;
    if literal.value() == "random" {
        return Ok(());
    }
    Err(Error::new(literal.span(), "`ids` knows only \"random\": leave it out for IDs in order"))
}

/// The longest history, in milliseconds.
const HISTORY_MS: u32 = 10_000;

fn duration(key: &Ident, input: ParseStream<'_>) -> Result<u32> {
    let literal = string_literal(key, input, "history = \"1s\"")?;
    let text = literal.value();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').unwrap_or_default(), 1000),
    };
    let ms = number.trim().parse::<u32>().ok().and_then(|number| number.checked_mul(unit));
    ms.filter(|ms| (1..=HISTORY_MS).contains(ms)).ok_or_else(|| {
        Error::new(
            literal.span(),
            "a history is 1 ms to 10 s long: `history = \"1s\"` or `history = \"250ms\"`",
        )
    })
}

fn path(key: &Ident, input: ParseStream<'_>) -> Result<Path> {
    let literal = string_literal(key, input, "crate = \"my_room\"")?;
    literal.parse_with(Path::parse_mod_style).map_err(|_| {
        Error::new(literal.span(), "`crate` takes the path of the room crate: `crate = \"my_room\"`")
    })
}

fn number(key: &Ident, input: ParseStream<'_>) -> Result<Spanned<f64>> {
    value(key, input, &format!("{key} = 0.5"))?;
    let start = input.span();
    let wrong = |span| Error::new(span, format_args!("`{key}` takes a number written out: `{key} = 0.5`"));
    let minus = input.parse::<Option<Token![-]>>()?;
    let literal = Lit::parse(input).map_err(|e| wrong(e.span()))?;
    let (digits, suffix) = match &literal {
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        _ => return Err(wrong(literal.span())),
    };
    if !matches!(suffix, "" | "f32" | "f64") {
        return Err(wrong(literal.span()));
    }
    let value: f64 = digits.parse().map_err(|_| wrong(literal.span()))?;
    // Adding 0.0 makes a zero of -0.0, so that both spell the same schema.
    let value = if minus.is_some() { -value } else { value } + 0.0;
    Ok(Spanned { value, span: if minus.is_some() { start } else { literal.span() } })
}

fn span_of(path: &Path) -> Span {
    path.get_ident().map_or_else(Span::call_site, Ident::span)
}
