//! `#[derive(FieldEnum)]`: rules and expansion.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Expr, ExprLit, ExprUnary, Fields, Lit, UnOp, Variant};

use crate::ast::crate_path;
use crate::attribute::{enum_crate, misplaced};
use crate::context::Context;

/// The most variants: their numbers fit a byte.
const VARIANTS: usize = 256;

/// The whole derive.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut cx = Context::default();
    let krate = crate_path(enum_crate(&mut cx, &input.attrs).as_ref());
    let variants = variants(&mut cx, &input);
    let generic = !input.generics.params.is_empty() || input.generics.where_clause.is_some();
    if generic {
        cx.error(input.ident.span(), "a field's enum has no generics: write an enum for each use");
    }
    // Beside mistakes an enum without variants will do: a field of the type is then no second message.
    let known = if cx.is_clean() { variants } else { Vec::new() };
    let expansion = (!generic).then(|| expand(&krate, &input.ident, &known));
    let errors = cx.into_compile_errors();
    quote!(#errors #expansion)
}

/// The variants and their numbers.
fn variants<'a>(cx: &mut Context, input: &'a DeriveInput) -> Vec<(&'a Ident, u8)> {
    let Data::Enum(data) = &input.data else {
        cx.error(
            input.ident.span(),
            "`FieldEnum` is for enums: a struct's fields can be an entity's own, or \
                                      stand in a `Json<…>` field",
        );
        return Vec::new();
    };
    if data.variants.is_empty() {
        cx.error(
            input.ident.span(),
            "a field's enum needs a variant, or the field could hold nothing: add one",
        );
    }
    if let Some(variant) = data.variants.iter().nth(VARIANTS) {
        cx.error(variant.ident.span(), format_args!(
            "this is variant {} of {}; a field's enum has at most {VARIANTS}, for it travels as one byte: use a \
             number or `Json<…>`",
            VARIANTS + 1,
            data.variants.len()
        ));
        return Vec::new();
    }
    let mut next = Some(0);
    let mut known = Vec::with_capacity(data.variants.len());
    for variant in &data.variants {
        misplaced(cx, &variant.attrs, "field_enum", "`#[field_enum(…)]` goes on the enum");
        if !matches!(variant.fields, Fields::Unit) {
            cx.error(variant.ident.span(), format_args!(
                "`{}` holds values, but a field's enum travels as one byte: take them out, or put the enum in a \
                 `Json<…>` field",
                variant.ident
            ));
        }
        let code = match &variant.discriminant {
            Some((_, number)) => given(cx, number),
            None => following(cx, variant, next),
        };
        known.extend(code.map(|code| (&variant.ident, code)));
        // After a mistake the count goes on from an unknown number, which is no mistake of its own.
        next = code.map(|code| u16::from(code) + 1);
    }
    known
}

/// The number that a variant has without one of its own: the last one's and one.
fn following(cx: &mut Context, variant: &Variant, next: Option<u16>) -> Option<u8> {
    let code = u8::try_from(next?).ok();
    if code.is_none() {
        cx.error(variant.ident.span(), format_args!(
            "`{}` would be number 256, but a field's enum travels as one byte: give it a number from 0 to 255",
            variant.ident
        ));
    }
    code
}

/// The number that a variant was given.
fn given(cx: &mut Context, number: &Expr) -> Option<u8> {
    let code = match number {
        Expr::Group(group) => return given(cx, &group.expr),
        Expr::Paren(paren) => return given(cx, &paren.expr),
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse::<u8>().ok(),
        Expr::Lit(ExprLit { lit: Lit::Byte(byte), .. }) => Some(byte.value()),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => None,
        _ => {
            cx.error(number.span(), "the derive cannot see what this number is: write it out");
            return None;
        }
    };
    if code.is_none() {
        let written = number.to_token_stream().to_string().replace(' ', "");
        cx.error(
            number.span(),
            format_args!(
                "a field's enum travels as one byte, so its numbers go from 0 to 255, not {written}"
            ),
        );
    }
    code
}

fn expand(krate: &TokenStream, ident: &Ident, variants: &[(&Ident, u8)]) -> TokenStream {
    let private = quote!(#krate::__private);
    let idents: Vec<_> = variants.iter().map(|(ident, _)| ident).collect();
    let names = idents.iter().map(|ident| ident.unraw().to_string());
    let codes: Vec<_> = variants.iter().map(|(_, code)| Literal::u8_suffixed(*code)).collect();
    let code = if variants.is_empty() {
        quote!(loop {})
    } else {
        quote!(match self { #(#ident::#idents => #codes,)* })
    };
    quote! {
        #[automatically_derived]
        impl #krate::field::FieldEnum for #ident {
            const VARIANTS: &'static [(&'static str, u8)] = &[#((#names, #codes)),*];
            #[inline]
            fn code(self) -> u8 {
                #code
            }
            #[inline]
            fn from_code(code: u8) -> #private::Option<Self> {
                match code {
                    #(#codes => #private::Some(#ident::#idents),)*
                    _ => #private::None,
                }
            }
        }
        #krate::__field_enum!(#ident);
    }
}
