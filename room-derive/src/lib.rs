//! Derives.
use proc_macro::TokenStream;
/// Entity.
#[proc_macro_derive(Entity, attributes(entity, field))]
pub fn entity(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
/// FieldEnum.
#[proc_macro_derive(FieldEnum)]
pub fn field_enum(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
