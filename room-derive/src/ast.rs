//! What a derive was put on, read as an entity.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Data, DataStruct, DeriveInput, Fields, GenericArgument, Path, PathArguments, Type, Visibility};

use crate::attribute::{FieldAttributes, KindAttributes, Spanned};
use crate::context::Context;

/// A struct with named fields and no generics.
pub(crate) struct Entity {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) attributes: KindAttributes,
    /// The path of the room crate.
    pub(crate) krate: TokenStream,
    pub(crate) name: Spanned<String>,
    pub(crate) fields: Vec<Field>,
}

/// A field of an entity.
pub(crate) struct Field {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) attributes: FieldAttributes,
    /// The name on the wire.
    pub(crate) name: Spanned<String>,
    /// The type as written, with the struct's name for `Self`.
    pub(crate) ty: Type,
    pub(crate) form: Form,
}

/// What a field's type is, as far as its last name says.
pub(crate) enum Form {
    /// `f32` or `f64`, or an `Option` or array of them: the bits of one.
    Float(u32),
    /// `Bytes`.
    Bytes,
    /// `Json` of this.
    Json(Box<Type>),
    /// `String`.
    Text,
    /// `PlayerId`.
    Player,
    /// Anything else.
    Other,
}

impl Entity {
    /// Reads the input; anything but a struct with named fields is a mistake, and `None`.
    pub(crate) fn read(cx: &mut Context, input: &DeriveInput) -> Option<Self> {
        let fields = shape(cx, input)?;
        let attributes = KindAttributes::read(cx, &input.attrs);
        let own =
            || Spanned { value: snake_case(&input.ident.unraw().to_string()), span: input.ident.span() };
        Some(Entity {
            vis: input.vis.clone(),
            ident: input.ident.clone(),
            krate: crate_path(attributes.krate.get()),
            name: attributes.name.get().cloned().unwrap_or_else(own),
            attributes,
            fields: fields.into_iter().map(|field| Field::read(cx, &input.ident, field)).collect(),
        })
    }

    /// The index of the field with the owner.
    pub(crate) fn owner(&self) -> Option<usize> {
        let owner = self.attributes.owner.get()?.unraw();
        self.fields.iter().position(|field| field.ident.unraw() == owner)
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.attributes.hidden.is_given()
    }

    pub(crate) fn is_ephemeral(&self) -> bool {
        self.attributes.ephemeral.is_given()
    }
}

impl Field {
    fn read(cx: &mut Context, entity: &Ident, field: &syn::Field) -> Self {
        let ident = field.ident.clone().unwrap_or_else(|| Ident::new("_", Span::call_site()));
        let attributes = FieldAttributes::read(cx, &field.attrs);
        let own = || Spanned { value: ident.unraw().to_string(), span: ident.span() };
        let ty = match syn::parse2(without_self(field.ty.to_token_stream(), entity)) {
            Ok(ty) => ty,
            Err(_) => field.ty.clone(),
        };
        Field {
            vis: field.vis.clone(),
            name: attributes.name.get().cloned().unwrap_or_else(own),
            attributes,
            form: Form::of(&ty),
            ident,
            ty,
        }
    }

    /// The name of its constant.
    pub(crate) fn constant(&self) -> String {
        self.ident.unraw().to_string().to_ascii_uppercase()
    }
}

impl Form {
    fn of(ty: &Type) -> Form {
        match plain(ty) {
            Type::Array(array) => Form::of_part(&array.elem),
            Type::Path(path) => match path.path.segments.last() {
                Some(last) if last.ident == "Json" => {
                    argument(last).map_or(Form::Other, |of| Form::Json(Box::new(of.clone())))
                }
                Some(last) if last.ident == "Option" => argument(last).map_or(Form::Other, Form::of_part),
                Some(last) if last.ident == "Bytes" => Form::Bytes,
                Some(last) if last.ident == "String" => Form::Text,
                Some(last) if last.ident == "PlayerId" => Form::Player,
                _ => Form::of_part(ty),
            },
            _ => Form::Other,
        }
    }

    fn of_part(ty: &Type) -> Form {
        let Type::Path(path) = plain(ty) else { return Form::Other };
        match path.path.segments.last() {
            Some(last) if last.ident == "f32" => Form::Float(32),
            Some(last) if last.ident == "f64" => Form::Float(64),
            _ => Form::Other,
        }
    }
}

/// The only type argument of a path's segment.
fn argument(segment: &syn::PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

/// A type without the invisible or written parentheses around it.
pub(crate) fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        _ => ty,
    }
}

/// Calls `f` with every array type in a field's type that is a value of the field.
pub(crate) fn each_array(ty: &Type, f: &mut impl FnMut(&syn::TypeArray)) {
    match plain(ty) {
        Type::Array(array) => {
            f(array);
            each_array(&array.elem, f);
        }
        Type::Path(path) => match path.path.segments.last() {
            Some(last) if last.ident == "Option" => {
                if let Some(of) = argument(last) {
                    each_array(of, f);
                }
            }
            _ => {}
        },
        _ => {}
    }
}

fn shape<'a>(
    cx: &mut Context,
    input: &'a DeriveInput,
) -> Option<&'a syn::punctuated::Punctuated<syn::Field, syn::Token![,]>> {
    let span = input.ident.span();
    let name = &input.ident;
    let fields = match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => &fields.named,
        Data::Struct(DataStruct { fields: Fields::Unnamed(_), .. }) => {
            cx.error(span, format_args!(
                "an entity's fields need names, which travel as theirs: write `struct {name} {{ value: … }}`"
            ));
            return None;
        }
        Data::Struct(DataStruct { fields: Fields::Unit, .. }) => {
            cx.error(
                span,
                format_args!(
                    "an entity is a struct with named fields: write `struct {name} {{}}` for one without any"
                ),
            );
            return None;
        }
        Data::Enum(_) => {
            cx.error(span, "an entity is a struct with named fields: put the enum in a field of one, with \
                            `#[derive(FieldEnum)]` where its variants hold nothing, in a `Json<…>` where they do");
            return None;
        }
        Data::Union(_) => {
            cx.error(span, "an entity is a struct with named fields: a union does not say what it holds");
            return None;
        }
    };
    if !input.generics.params.is_empty() || input.generics.where_clause.is_some() {
        cx.error(
            span,
            "an entity has no generics, so that its kind is one for all: write a struct for each \
                        use, or keep what varies in a `Json<…>` field",
        );
        return None;
    }
    Some(fields)
}

/// The path of the room crate: as given, or by its own name.
pub(crate) fn crate_path(given: Option<&Path>) -> TokenStream {
    given.map_or_else(|| quote!(::room), ToTokens::to_token_stream)
}

fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (i, c) in chars.iter().enumerate() {
        let starts_word = i > 0
            && c.is_uppercase()
            && chars[i - 1] != '_'
            && (!chars[i - 1].is_uppercase() || chars.get(i + 1).is_some_and(|next| next.is_lowercase()));
        if starts_word {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Puts the struct's name for `Self`, which means another type in the items that are expanded.
fn without_self(tokens: TokenStream, entity: &Ident) -> TokenStream {
    let replaced = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut name = entity.clone();
            name.set_span(ident.span());
            TokenTree::Ident(name)
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), entity));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    };
    tokens.into_iter().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn kinds_are_named_in_snake_case() {
        let cases = [
            ("Avatar", "avatar"),
            ("BigRock", "big_rock"),
            ("HTTPPeer", "http_peer"),
            ("Rock2D", "rock2_d"),
            ("ABC", "abc"),
            ("already_snake", "already_snake"),
            ("Half_Snake", "half_snake"),
        ];
        for (name, snake) in cases {
            assert_eq!(snake_case(name), snake);
        }
    }
}
