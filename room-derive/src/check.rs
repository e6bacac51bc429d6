//! The rules of kinds and fields.

use std::collections::HashMap;

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Lit};

use crate::ast::{Entity, Field, Form, each_array, plain};
use crate::attribute::{Quantize, Spanned};
use crate::context::Context;

/// The most fields of a kind.
const FIELDS: usize = 255;
/// The most characters of a name.
const NAME: usize = 64;
/// The most values of an array field.
const ARRAY: u64 = 16;
/// Kind names that begin so are the library's.
const RESERVED: &str = "room_";
/// Names that no field can have: clients use them for an entity's own.
const FORBIDDEN: [&str; 3] = ["id", "kind", "patch"];

/// Reports every rule that the entity breaks.
pub(crate) fn check(cx: &mut Context, entity: &Entity) {
    kind_name(cx, entity);
    owner(cx, entity);
    if let Some(field) = entity.fields.get(FIELDS) {
        let count = entity.fields.len();
        cx.error(field.ident.span(), format_args!(
            "this is field {} of {count}; a kind has at most {FIELDS}: put some in another kind, or several in \
             one array or `Json<…>` field",
            FIELDS + 1
        ));
    }
    names(cx, entity);
    for field in &entity.fields {
        writable(cx, entity, field);
        coarse(cx, entity, field);
        arrays(cx, field);
        if let Some(quantize) = field.attributes.quantize.get() {
            self::quantize(cx, field, quantize);
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= NAME
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn name_rule(name: &str) -> String {
    format!(
        "`{name}` cannot travel as a name: that is 1 to {NAME} of the letters A to Z and a to z, digits and `_`, \
         and does not begin with a digit"
    )
}

fn kind_name(cx: &mut Context, entity: &Entity) {
    let Spanned { value: name, span } = &entity.name;
    if !is_name(name) {
        cx.error(*span, format_args!("{}: name the kind with `#[entity(name = \"…\")]`", name_rule(name)));
    }
    // The room crate names its own kinds, and is the only one that knows itself as `crate`.
    if name.starts_with(RESERVED) && entity.krate.to_string() != "crate" {
        cx.error(
            *span,
            format_args!(
                "`{name}`: kinds that begin with `{RESERVED}` are the library's own: name it otherwise, with \
             `#[entity(name = \"…\")]`"
            ),
        );
    }
}

fn owner(cx: &mut Context, entity: &Entity) {
    let Some(owner) = entity.attributes.owner.get() else { return };
    if entity.is_hidden() {
        cx.error(
            owner.span(),
            "a hidden kind has no owner, for no client sees it to write it: take away `owner` \
                                or `hidden`",
        );
        return;
    }
    match entity.owner().map(|i| &entity.fields[i]) {
        None => cx.error(owner.span(), format_args!(
            "`{}` has no field `{owner}`: `owner` names the field that holds the owner's `PlayerId`",
            entity.ident
        )),
        Some(field) if !matches!(field.form, Form::Player) => cx.error(owner.span(), format_args!(
            "the owner is a player, so its field has the type `PlayerId`, but `{owner}` is `{}`: change that, or \
             name another field",
            spell(&field.ty)
        )),
        Some(_) => {}
    }
}

/// The names of fields: allowed, and none given twice, on the wire and in the code that is generated.
fn names(cx: &mut Context, entity: &Entity) {
    let mut wire = HashMap::new();
    let mut constants = HashMap::new();
    for field in &entity.fields {
        let Spanned { value: name, span } = &field.name;
        let ident = field.ident.unraw().to_string();
        if FORBIDDEN.contains(&ident.as_str()) {
            cx.error(
                field.ident.span(),
                format_args!(
                    "no field can be called `{ident}`: an entity has its own {ident}; rename the field"
                ),
            );
        } else if FORBIDDEN.contains(&name.as_str()) {
            cx.error(*span, format_args!(
                "no field can be called `{name}` on the wire: an entity has its own {name}; name it otherwise"
            ));
        }
        if !is_name(name) {
            cx.error(
                *span,
                format_args!("{}: name the field with `#[field(name = \"…\")]`", name_rule(name)),
            );
        }
        if let Some(first) = wire.insert(name.as_str(), &field.ident) {
            cx.error(
                *span,
                format_args!(
                    "`{name}` is already the name of field `{first}` on the wire: name one otherwise, with \
                 `#[field(name = \"…\")]`"
                ),
            );
        }
        let constant = field.constant();
        if let Some(first) = constants.insert(constant.clone(), &field.ident) {
            cx.error(
                field.ident.span(),
                format_args!(
                    "fields `{first}` and `{}` would share the constant `{}::{constant}`: rename one",
                    field.ident, entity.ident
                ),
            );
        }
    }
}

fn writable(cx: &mut Context, entity: &Entity, field: &Field) {
    let Some(span) = field.attributes.writable.get() else { return };
    if entity.is_hidden() {
        cx.error(
            *span,
            "no client sees a hidden kind, so none can write its fields: take away `writable` or \
                         `hidden`",
        );
    } else if !entity.attributes.owner.is_given() {
        cx.error(
            *span,
            "nobody could write this field, for only an entity's owner writes it: name the field \
                         that holds the owner with `#[entity(owner = …)]`, or take away `writable`",
        );
    }
}

fn coarse(cx: &mut Context, entity: &Entity, field: &Field) {
    let Some(span) = field.attributes.coarse.get() else { return };
    if entity.is_ephemeral() {
        cx.error(
            *span,
            "an ephemeral kind is never stored, so no field of it is stored less often: take away `coarse` or \
             `ephemeral`",
        );
    }
}

fn arrays(cx: &mut Context, field: &Field) {
    each_array(&field.ty, &mut |array| {
        let Expr::Lit(ExprLit { lit: Lit::Int(len), .. }) = plain_length(&array.len) else { return };
        let Ok(n) = len.base10_parse::<u64>() else { return };
        if n == 0 || n > ARRAY {
            cx.error(
                len.span(),
                format_args!(
                    "an array field holds 1 to {ARRAY} values, not {n}: split it, or use `Bytes` or `Json<…>`"
                ),
            );
        }
    });
}

fn plain_length(length: &Expr) -> &Expr {
    match length {
        Expr::Group(group) => plain_length(&group.expr),
        Expr::Paren(paren) => plain_length(&paren.expr),
        _ => length,
    }
}

fn quantize(cx: &mut Context, field: &Field, quantize: &Quantize) {
    let Form::Float(bits) = field.form else {
        cx.error(quantize.span, format_args!(
            "only floats are quantized: `f32` and `f64`, and an `Option` or array of them, by these names; `{}` \
             is none: change the type or take away `quantize`",
            spell(&field.ty)
        ));
        return;
    };
    let mut sound = true;
    let mut wrong = |span, message: String| {
        cx.error(span, message);
        sound = false;
    };
    let Quantize { step, min, max, .. } = quantize;
    let most = if bits == 32 { f64::from(f32::MAX) } else { f64::MAX };
    for (name, part) in [("step", step), ("min", min), ("max", max)] {
        if part.value.abs() > most {
            wrong(part.span, format!("`{name}` is larger than any f{bits}: write a number that it can hold"));
        }
    }
    if step.value <= 0.0 {
        wrong(
            step.span,
            format!("`step` is the distance between two values, so more than 0, not {}", step.value),
        );
    }
    if min.value >= max.value {
        wrong(max.span, format!("`max` lies above `min`, which {} does not: swap or widen them", max.value));
    }
    if sound {
        resolution(cx, bits, quantize);
    }
}

/// Every step has to come back as itself after it was held as a float: to that end the float's own steps, which
/// are widest at the far end of the range, are finer.
fn resolution(cx: &mut Context, bits: u32, quantize: &Quantize) {
    let (step, min, max) = (quantize.step.value, quantize.min.value, quantize.max.value);
    let span = quantize.step.span;
    let far = min.abs().max(max.abs());
    let (power, finest, other) = match bits {
        32 => (24, spacing_f32(far), ", or use f64"),
        // The arithmetic is in f64 too and rounds by as much again.
        _ => (48, 2.0 * spacing_f64(far), ""),
    };
    let most = 2f64.powi(power);
    let steps = (max - min) / step;
    if step > max - min {
        let rule = format!("a step of {step} is wider than the range from {min} to {max}");
        cx.error(span, rule + ": make it finer or the range wider");
    } else if steps.round() > most {
        let least = rounded_up(max / most - min / most);
        let rule = format!("an f{bits} field has at most 2^{power} steps, and this range {steps:.0}");
        cx.error(span, format_args!("{rule}: widen `step` to {least} or narrow the range{other}"));
    } else if finest >= step {
        let finest = rounded_up(finest);
        let rule =
            format!("near the end of this range an f{bits} keeps only steps wider than {finest} apart");
        cx.error(span, format_args!("{rule}, so {step} would not come back as written: widen `step`{other}"));
    } else if !end_comes_back(bits, quantize) {
        let whole = min + steps.floor() * step;
        let rule = format!(
            "`max` lies half a step past the last whole one, so an f{bits} there comes back as either"
        );
        cx.error(quantize.max.span, format_args!("{rule}: move it to {whole} or {}", whole + step));
    }
}

/// Whether the last step, which ends at `max` where the range is not a whole number of them, comes back as itself.
/// This is the arithmetic of `room::field::quantize`.
fn end_comes_back(bits: u32, Quantize { step, min, max, .. }: &Quantize) -> bool {
    let nearest = |value: f64| ((value - min.value) / step.value + 0.5) as u64;
    let last = nearest(max.value);
    let end = (min.value + last as f64 * step.value).min(max.value);
    let held = if bits == 32 { f64::from(end as f32) } else { end };
    nearest(held).min(last) == last
}

/// A number as a person would suggest it: two digits, and no less than asked.
fn rounded_up(value: f64) -> String {
    let unit = 10f64.powi(value.log10().floor() as i32 - 1);
    let value = (value / unit).ceil() * unit;
    if (1e-4..1e6).contains(&value) {
        // Through two digits, so that what the multiplication left behind them is not shown.
        format!("{value:.1e}").parse().map_or_else(|_| value.to_string(), |v: f64| v.to_string())
    } else {
        format!("{value:.1e}")
    }
}

/// The distance from a positive value to the next lower one.
fn spacing_f32(value: f64) -> f64 {
    let value = value as f32;
    f64::from(value) - f64::from(f32::from_bits(value.to_bits() - 1))
}

fn spacing_f64(value: f64) -> f64 {
    value - f64::from_bits(value.to_bits() - 1)
}

/// A type as a person writes it.
fn spell(ty: &syn::Type) -> String {
    plain(ty).to_token_stream().to_string().replace(" < ", "<").replace(" >", ">").replace(" :: ", "::")
}

#[cfg(test)]
mod tests {
    use super::{is_name, rounded_up};

    #[test]
    fn suggestions_have_two_digits_and_are_no_less_than_asked() {
        let cases = [(2000.0 / 16_777_216.0, "0.00012"), (7.105e-9, "7.2e-9"), (0.0625, "0.063"), (1.0, "1")];
        for (value, shown) in cases {
            assert_eq!(rounded_up(value), shown);
            assert!(shown.parse::<f64>().unwrap() >= value);
        }
    }

    #[test]
    fn names_have_one_to_64_characters_and_begin_with_no_digit() {
        for good in ["a", "_", "A9_", &"x".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "9", "a-b", "a b", "é", "a\0", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
