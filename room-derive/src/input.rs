//! `#[derive(Input)]`: rules and expansion.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, LitStr, Path, Token, Type};

use crate::ast::crate_path;
use crate::context::Context;

/// A field, and what becomes of it where the next input has not come.
struct Field<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    sort: Sort,
}

/// What `#[input(…)]` says of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Nothing: it is repeated, and then rests.
    Held,
    Once,
    Kept,
}

/// The whole derive.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut cx = Context::default();
    let krate = crate_path(struct_crate(&mut cx, &input.attrs).as_ref());
    let generic = !input.generics.params.is_empty() || input.generics.where_clause.is_some();
    if generic {
        cx.error(input.ident.span(), "an input has no generics: write a struct for each use");
    }
    let fields = fields(&mut cx, &input);
    let expansion = (!generic).then(|| match &fields {
        Some(fields) => expand(&krate, &input.ident, fields),
        None => stub(&krate, &input.ident),
    });
    let errors = cx.into_compile_errors();
    quote!(#errors #expansion)
}

/// The path in `#[input(crate = "…")]` on the struct.
fn struct_crate(cx: &mut Context, attributes: &[Attribute]) -> Option<Path> {
    let mut path = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("input")) {
        let read = attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error(
                    "on a struct `#[input(…)]` takes `crate = \"…\"`; `once` and `keep` go on a field",
                ));
            }
            path = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            Ok(())
        });
        if let Err(error) = read {
            cx.push(error);
        }
    }
    path
}

fn fields<'a>(cx: &mut Context, input: &'a DeriveInput) -> Option<Vec<Field<'a>>> {
    let named = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(&fields.named),
            Fields::Unit | Fields::Unnamed(_) => None,
        },
        Data::Enum(_) | Data::Union(_) => None,
    };
    let Some(named) = named else {
        cx.error(
            input.ident.span(),
            "an input is a struct with named fields: what a player does in one tick",
        );
        return None;
    };
    let known = named.iter().filter_map(|field| {
        let sort = sort(cx, &field.attrs);
        Some(Field { ident: field.ident.as_ref()?, ty: &field.ty, sort })
    });
    Some(known.collect())
}

fn sort(cx: &mut Context, attributes: &[Attribute]) -> Sort {
    let mut sort = Sort::Held;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("input")) {
        let read = attribute.parse_nested_meta(|meta| {
            let given = match meta.path.get_ident().map(|ident| ident.unraw().to_string()).as_deref() {
                Some("once") => Sort::Once,
                Some("keep") => Sort::Kept,
                _ => return Err(meta.error("on a field `#[input(…)]` takes `once` or `keep`")),
            };
            if meta.input.peek(Token![=]) {
                return Err(meta.error("`once` and `keep` take no value"));
            }
            if sort != Sort::Held {
                return Err(meta.error("a field is done once, or kept, but not both: leave one"));
            }
            sort = given;
            Ok(())
        });
        if let Err(error) = read {
            cx.push(error);
        }
    }
    sort
}

/// What stands in for the expansion of what is no input, so that the rest of the program still finds one.
fn stub(krate: &TokenStream, ident: &Ident) -> TokenStream {
    quote! {
        impl #krate::step::Input for #ident
        where
            Self: #krate::__private::Default,
        {
            fn repeat(&self) -> Self { loop {} }
            fn rest(&self) -> Self { loop {} }
            fn acts(&self) -> bool { loop {} }
            fn with_actions_of(&self, _: &Self) -> Self { loop {} }
        }
    }
}

fn expand(krate: &TokenStream, ident: &Ident, fields: &[Field<'_>]) -> TokenStream {
    let private = quote!(#krate::__private);
    let of = |field: &Field<'_>, from: TokenStream| {
        let (ident, ty, span) = (field.ident, field.ty, field.ty.span());
        quote_spanned!(span=> #ident: <#ty as #private::Clone>::clone(&#from.#ident))
    };
    let default = |field: &Field<'_>| {
        let (ident, ty, span) = (field.ident, field.ty, field.ty.span());
        quote_spanned!(span=> #ident: <#ty as #private::Default>::default())
    };
    let rests = |field: &Field<'_>| {
        let (ident, ty, span) = (field.ident, field.ty, field.ty.span());
        quote_spanned!(span=> <#ty as #private::PartialEq>::eq(&self.#ident, &<#ty as #private::Default>::default()))
    };
    let this = || quote!(self);
    let repeat = fields.iter().map(|field| match field.sort {
        Sort::Once => default(field),
        Sort::Held | Sort::Kept => of(field, this()),
    });
    let rest = fields.iter().map(|field| match field.sort {
        Sort::Kept => of(field, this()),
        Sort::Held | Sort::Once => default(field),
    });
    let acts = fields.iter().filter(|field| field.sort == Sort::Once).map(rests);
    let with = fields.iter().map(|field| {
        let (ident, own) = (field.ident, of(field, this()));
        if field.sort != Sort::Once {
            return own;
        }
        let (rests, ty) = (rests(field), field.ty);
        quote_spanned!(ty.span()=> #ident: <#ty as #private::Clone>::clone(if #rests { &other.#ident } else { &self.#ident }))
    });
    quote! {
        #[automatically_derived]
        impl #krate::step::Input for #ident {
            fn repeat(&self) -> Self {
                #ident { #(#repeat),* }
            }
            fn rest(&self) -> Self {
                #ident { #(#rest),* }
            }
            fn acts(&self) -> bool {
                false #(|| !#acts)*
            }
            fn with_actions_of(&self, other: &Self) -> Self {
                let _ = other;
                #ident { #(#with),* }
            }
        }
    }
}
