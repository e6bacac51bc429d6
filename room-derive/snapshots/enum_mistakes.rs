::core::compile_error! {
    "`North` holds values, but a field's enum travels as one byte: take them out, or put the enum in a `Json<…>` field"
}
#[automatically_derived]
impl my_room::field::FieldEnum for Facing {
    const VARIANTS: &'static [(&'static str, u8)] = &[];
    #[inline]
    fn code(self) -> u8 {
        loop {}
    }
    #[inline]
    fn from_code(code: u8) -> my_room::__private::Option<Self> {
        match code {
            _ => my_room::__private::None,
        }
    }
}
my_room::__field_enum!(Facing);
