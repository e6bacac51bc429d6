//! `#[derive(Entity)]` written out.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DeriveInput, Index};

use crate::ast::{Entity, Field, Form, crate_path};
use crate::attribute::{FieldAttributes, KindAttributes};
use crate::check;
use crate::context::Context;

/// The whole derive.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut cx = Context::default();
    let expansion = match Entity::read(&mut cx, &input) {
        Some(entity) => {
            check::check(&mut cx, &entity);
            expand(&entity, cx.is_clean())
        }
        None => stub(&input),
    };
    let errors = cx.into_compile_errors();
    quote!(#errors #expansion)
}

/// A name whose errors and lints point where `ident` stands, but which is generated code to the compiler: what
/// nobody uses of it is no warning.
fn generated(ident: &Ident, name: &str) -> Ident {
    let span = Span::call_site().located_at(ident.span());
    let mut name = if ident == name { ident.clone() } else { Ident::new(name, span) };
    name.set_span(span);
    name
}

/// A field with the names that its code uses.
struct Part<'a> {
    field: &'a Field,
    index: usize,
    /// The field's own name.
    member: Ident,
    /// An alias of its codec.
    codec: Ident,
    /// Its place in the track.
    track: Index,
    /// Where errors about its type point: the type.
    span: Span,
}

fn expand(entity: &Entity, sound: bool) -> TokenStream {
    let parts: Vec<_> = entity.fields.iter().enumerate().map(|(index, field)| part(index, field)).collect();
    let Entity { vis, ident, krate, .. } = entity;
    let writer = generated(ident, &format!("{}Mut", ident.unraw()));
    let doc = format!(
        " An entity `{}` that is open for writing: it reads as one, and has a setter a field.",
        ident.unraw()
    );
    let codecs = parts.iter().map(|part| codec(krate, part));
    let track = track(krate, &parts);
    let entity_impl = entity_impl(entity, &writer, &parts, sound);
    let writer_impl = writer_impl(entity, &writer, &parts);
    let constants = constants(entity, &parts);
    let (owned, owned_impl) = owned(entity, &parts).unwrap_or_default();
    let visible =
        (!entity.is_hidden()).then(|| quote!(#[automatically_derived] impl #krate::Visible for #ident {}));
    quote! {
        #[doc = #doc]
        #vis struct #writer<'a>(#krate::entity::Write<'a, #ident>);
        #owned

        const _: () = {
            #(#codecs)*
            #track
            #entity_impl
            #visible
            #writer_impl
            #owned_impl
            #constants
        };
    }
}

fn part(index: usize, field: &Field) -> Part<'_> {
    let span = Span::call_site().located_at(field.ty.span());
    let codec = Ident::new(&format!("__Codec{index}"), span);
    let member = generated(&field.ident, &field.ident.to_string());
    Part { field, index, member, codec, track: Index { index: index as u32, span }, span }
}

fn codec(krate: &TokenStream, part: &Part<'_>) -> TokenStream {
    let (ty, alias, span) = (&part.field.ty, &part.codec, part.span);
    match (part.field.attributes.quantize.get(), &part.field.form) {
        (Some(range), Form::Float(_)) => {
            let bits = [&range.step, &range.min, &range.max].map(|part| part.value.to_bits());
            let bits = bits.map(Literal::u64_suffixed);
            quote_spanned!(span=> type #alias = #krate::field::Quantized<#ty, #(#bits),*>;)
        }
        _ => quote_spanned!(span=> type #alias = <#ty as #krate::field::Field>::Codec;),
    }
}

/// What writes leave behind, a part a field. Its impls are written out, for what a derive within this one says of
/// a type that is no field would be a second message.
fn track(krate: &TokenStream, parts: &[Part<'_>]) -> TokenStream {
    let private = quote!(#krate::__private);
    // What a `Json` leaves behind is text whatever it holds, so a type that cannot be JSON is no matter here.
    let types = parts.iter().map(|Part { field, codec, span, .. }| match field.form {
        Form::Json(_) => {
            quote!(<<#krate::Json<()> as #krate::field::Field>::Codec as #krate::field::Codec>::Track)
        }
        _ => quote_spanned!(*span=> <#codec as #krate::field::Codec>::Track),
    });
    let defaults = parts.iter().map(|_| quote!(#private::Default::default()));
    let shown = parts.iter().map(|Part { track, span, .. }| quote_spanned!(*span=> .field(&self.#track)));
    quote! {
        #[doc(hidden)]
        pub struct __Track(#(#types),*);

        #[automatically_derived]
        impl #private::Default for __Track {
            fn default() -> Self {
                __Track(#(#defaults),*)
            }
        }

        #[automatically_derived]
        impl #private::Debug for __Track {
            fn fmt(&self, f: &mut #private::Formatter<'_>) -> #private::FmtResult {
                f.debug_tuple("Track")#(#shown)*.finish()
            }
        }
    }
}

fn entity_impl(entity: &Entity, writer: &Ident, parts: &[Part<'_>], sound: bool) -> TokenStream {
    let Entity { ident, krate, .. } = entity;
    let private = quote!(#krate::__private);
    let kind = kind(entity, parts, sound);
    let sent = if entity.is_hidden() {
        quote!(#private::None)
    } else {
        quote!(#private::Some(#krate::entity::Sent::new()))
    };
    let owner = match entity.owner() {
        Some(owner) if sound => {
            let member = &parts[owner].member;
            quote!(#private::Some(self.#member))
        }
        _ => quote!(#private::None),
    };
    let reads = parts.iter().map(|Part { index, member, codec, track, span, .. }| {
        quote_spanned!(*span=>
            <__V as #krate::entity::Visit>::field::<#codec>(visit, #index, &self.#member, &track.#track);
        )
    });
    let changes = parts.iter().map(|Part { index, member, codec, track, span, .. }| {
        quote_spanned!(*span=>
            <__V as #krate::entity::VisitMut>::field::<#codec>(visit, #index, &mut self.#member, &mut track.#track)?;
        )
    });
    let makes = parts.iter().map(|Part { index, member, codec, span, .. }| {
        quote_spanned!(*span=> #member: <__S as #krate::entity::Source>::field::<#codec>(source, #index)?)
    });
    quote! {
        #[automatically_derived]
        impl #krate::Entity for #ident {
            type Track = __Track;
            type Writer<'a> = #writer<'a>;
            const KIND: &'static #krate::entity::Kind = &#kind;
            const SENT: #private::Option<#krate::entity::Sent<Self>> = #sent;

            #[inline]
            fn writer(write: #krate::entity::Write<'_, Self>) -> #writer<'_> {
                #writer(write)
            }
            #[inline]
            fn owner(&self) -> #private::Option<#krate::PlayerId> {
                #owner
            }
            #[inline]
            fn visit<__V: #krate::entity::Visit>(&self, track: &__Track, visit: &mut __V) {
                let _ = (track, &*visit);
                #(#reads)*
            }
            #[inline]
            fn visit_mut<__V: #krate::entity::VisitMut>(
                &mut self,
                track: &mut __Track,
                visit: &mut __V,
            ) -> #private::Result<(), __V::Error> {
                let _ = (&*track, &*visit);
                #(#changes)*
                #private::Ok(())
            }
            #[inline]
            fn build<__S: #krate::entity::Source>(source: &mut __S) -> #private::Result<Self, __S::Error> {
                let _ = &*source;
                #private::Ok(#ident {
                    #(#makes),*
                })
            }
        }
    }
}

/// The schema's description. Beside mistakes it names no fields, for what they are is not known.
fn kind(entity: &Entity, parts: &[Part<'_>], sound: bool) -> TokenStream {
    let Entity { krate, .. } = entity;
    let private = quote!(#krate::__private);
    let (name, hidden, ephemeral) = (&entity.name.value, entity.is_hidden(), entity.is_ephemeral());
    let random = entity.attributes.random_ids.is_given();
    let history = Literal::u32_suffixed(entity.attributes.history.get().copied().unwrap_or(0));
    let owner = match entity.owner() {
        Some(owner) => quote!(#private::Some(#owner)),
        None => quote!(#private::None),
    };
    let fields = parts.iter().filter(|_| sound).map(|part| {
        let (name, codec) = (&part.field.name.value, &part.codec);
        let FieldAttributes { writable, coarse, .. } = &part.field.attributes;
        let (writable, coarse) = (writable.is_given(), coarse.is_given());
        quote_spanned! {part.span=>
            #krate::entity::FieldInfo {
                name: #name,
                wire: <#codec as #krate::field::Codec>::WIRE,
                writable: #writable,
                coarse: #coarse,
            }
        }
    });
    quote! {
        #krate::entity::Kind {
            name: #name,
            hidden: #hidden,
            ephemeral: #ephemeral,
            random_ids: #random,
            history_ms: #history,
            owner: #owner,
            fields: &[#(#fields),*],
        }
    }
}

/// The writer with which an owner writes from a client, and its code; none where no field is writable.
fn owned(entity: &Entity, parts: &[Part<'_>]) -> Option<(TokenStream, TokenStream)> {
    let Entity { vis, ident, krate, .. } = entity;
    let writable: Vec<_> = parts.iter().filter(|part| part.field.attributes.writable.is_given()).collect();
    if entity.owner().is_none() || entity.is_hidden() || writable.is_empty() {
        return None;
    }
    let owned = generated(ident, &format!("{}Owned", ident.unraw()));
    let doc = format!(
        " An entity `{}` that its owner writes from a client: it reads as one, and has a setter a writable field.",
        ident.unraw()
    );
    let code = writer_code(entity, &owned, &writable);
    let code = quote! {
        #[automatically_derived]
        impl #krate::Owned for #ident {
            type Owned<'a> = #owned<'a>;
            fn owned(write: #krate::entity::Write<'_, Self>) -> #owned<'_> {
                #owned(write)
            }
        }
        #code
    };
    Some((quote!(#[doc = #doc] #vis struct #owned<'a>(#krate::entity::Write<'a, #ident>);), code))
}

fn writer_impl(entity: &Entity, writer: &Ident, parts: &[Part<'_>]) -> TokenStream {
    writer_code(entity, writer, &parts.iter().collect::<Vec<_>>())
}

/// What a writer of some fields can do.
fn writer_code(entity: &Entity, writer: &Ident, parts: &[&Part<'_>]) -> TokenStream {
    let Entity { vis, ident, krate, .. } = entity;
    let name = writer.to_string();
    let setters = parts.iter().map(|part| setter(krate, part));
    quote! {
        impl #writer<'_> {
            /// The entity's ID.
            #[must_use]
            #vis fn id(&self) -> #krate::Id<#ident> {
                #krate::Id::assume(self.0.id())
            }
            #(#setters)*
        }

        #[automatically_derived]
        impl #krate::__private::Deref for #writer<'_> {
            type Target = #ident;
            #[inline]
            fn deref(&self) -> &#ident {
                self.0.value()
            }
        }

        #[automatically_derived]
        impl #krate::__private::Debug for #writer<'_> {
            fn fmt(&self, f: &mut #krate::__private::Formatter<'_>) -> #krate::__private::FmtResult {
                f.debug_tuple(#name).field(self.0.value()).finish()
            }
        }
    }
}

/// The methods that write a field, as visible as the field is.
fn setter(krate: &TokenStream, part: &Part<'_>) -> TokenStream {
    let Part { field, index, member, codec, track, span } = part;
    let Field { vis, ident, ty, form, .. } = field;
    let name = ident.unraw().to_string();
    let method = |prefix| generated(ident, &format!("{prefix}_{name}"));
    let place = quote_spanned!(*span=> #index, |entity, track| (&mut entity.#member, &mut track.#track));
    let error = quote!(#krate::WriteError);
    let result = quote!(#krate::__private::Result);
    let limits = "\n\n # Errors\n A value that passes a limit is refused, and nothing changes.";
    let fallible = matches!(form, Form::Text | Form::Bytes | Form::Json(_));
    let doc = format!(" Writes `{name}`.{}", if fallible { limits } else { "" });
    let set = method("set");
    let set = quote_spanned! {*span=>
        #[doc = #doc]
        #[inline]
        #vis fn #set(&mut self, value: #ty) -> <#codec as #krate::field::Codec>::Outcome {
            self.0.set::<#codec>(#place, value)
        }
    };
    let more = match form {
        Form::Bytes => {
            let patch = method("patch");
            let doc = format!(
                " Writes `bytes` at `offset` of `{name}`. Past its end it grows, and a gap fills with zeros.{limits}"
            );
            quote_spanned! {*span=>
                #[doc = #doc]
                #vis fn #patch(&mut self, offset: usize, bytes: &[u8]) -> #result<(), #error> {
                    self.0.patch(#place, offset, bytes)
                }
            }
        }
        Form::Json(of) => {
            let update = method("update");
            let doc = format!(" Changes `{name}` in place, and returns what `change` does.{limits}");
            quote_spanned! {*span=>
                #[doc = #doc]
                #vis fn #update<__R>(&mut self, change: impl #krate::__private::FnOnce(&mut #of) -> __R) -> #result<__R, #error> {
                    self.0.update(#place, change)
                }
            }
        }
        _ => TokenStream::new(),
    };
    quote!(#set #more)
}

/// A constant a field, as visible as the struct is: one may hear that a field changed without reading it.
fn constants(entity: &Entity, parts: &[Part<'_>]) -> TokenStream {
    let Entity { vis, ident, krate, .. } = entity;
    // Two that would collide were reported, so one of them is enough.
    let mut seen = std::collections::HashSet::new();
    let constants = parts.iter().filter(|part| seen.insert(part.field.constant())).map(|part| {
        let field = &part.field.ident;
        let (name, index) = (generated(field, &part.field.constant()), part.index);
        let doc = format!(" The field `{}`.", field.unraw());
        quote! {
            #[doc = #doc]
            #vis const #name: #krate::entity::FieldRef<#ident> = #krate::entity::FieldRef::new(#index);
        }
    });
    quote! {
        impl #ident {
            #(#constants)*
        }
    }
}

/// What stands in for the expansion of what is no entity, so that the rest of the program still finds one.
fn stub(input: &DeriveInput) -> TokenStream {
    // Its attributes' mistakes are not the matter now.
    let attributes = KindAttributes::read(&mut Context::default(), &input.attrs);
    let krate = crate_path(attributes.krate.get());
    let private = quote!(#krate::__private);
    let ident = &input.ident;
    let (generics, arguments, _) = input.generics.split_for_impl();
    let given = input.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let bounds = quote! {
        where
            Self: #private::Clone + #private::Debug + #private::Send + #private::Sync + 'static,
            #(#given,)*
    };
    let visible = (!attributes.hidden.is_given())
        .then(|| quote!(impl #generics #krate::Visible for #ident #arguments #bounds {}));
    let kind = format_ident!("{}", ident.unraw()).to_string();
    quote! {
        const _: () = {
            impl #generics #krate::Entity for #ident #arguments #bounds {
                type Track = ();
                type Writer<'__a> = &'__a Self;
                const KIND: &'static #krate::entity::Kind = &#krate::entity::Kind {
                    name: #kind,
                    hidden: false,
                    ephemeral: false,
                    random_ids: false,
                    history_ms: 0,
                    owner: #private::None,
                    fields: &[],
                };
                const SENT: #private::Option<#krate::entity::Sent<Self>> = #private::None;

                fn writer(_: #krate::entity::Write<'_, Self>) -> &Self {
                    loop {}
                }
                fn owner(&self) -> #private::Option<#krate::PlayerId> {
                    #private::None
                }
                fn visit<__V: #krate::entity::Visit>(&self, _: &(), _: &mut __V) {}
                fn visit_mut<__V: #krate::entity::VisitMut>(
                    &mut self,
                    _: &mut (),
                    _: &mut __V,
                ) -> #private::Result<(), __V::Error> {
                    #private::Ok(())
                }
                fn build<__S: #krate::entity::Source>(_: &mut __S) -> #private::Result<Self, __S::Error> {
                    loop {}
                }
            }
            #visible
        };
    }
}
