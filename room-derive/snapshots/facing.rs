#[automatically_derived]
impl ::room::field::FieldEnum for Facing {
    const VARIANTS: &'static [(&'static str, u8)] = &[
        ("North", 0u8),
        ("East", 7u8),
        ("South", 8u8),
    ];
    #[inline]
    fn code(self) -> u8 {
        match self {
            Facing::North => 0u8,
            Facing::r#East => 7u8,
            Facing::South => 8u8,
        }
    }
    #[inline]
    fn from_code(code: u8) -> ::room::__private::Option<Self> {
        match code {
            0u8 => ::room::__private::Some(Facing::North),
            7u8 => ::room::__private::Some(Facing::r#East),
            8u8 => ::room::__private::Some(Facing::South),
            _ => ::room::__private::None,
        }
    }
}
::room::__field_enum!(Facing);
