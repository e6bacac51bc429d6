::core::compile_error! {
    "an entity's fields need names, which travel as theirs: write `struct Pair { value: … }`"
}
const _: () = {
    impl<T: Clone> ::room::Entity for Pair<T>
    where
        Self: ::room::__private::Clone + ::room::__private::Debug
            + ::room::__private::Send + ::room::__private::Sync + 'static,
        T: Copy,
    {
        type Track = ();
        type Writer<'__a> = &'__a Self;
        const KIND: &'static ::room::entity::Kind = &::room::entity::Kind {
            name: "Pair",
            hidden: false,
            ephemeral: false,
            random_ids: false,
            history_ms: 0,
            owner: ::room::__private::None,
            fields: &[],
        };
        const SENT: ::room::__private::Option<::room::entity::Sent<Self>> = ::room::__private::None;
        fn writer(_: ::room::entity::Write<'_, Self>) -> &Self {
            loop {}
        }
        fn owner(&self) -> ::room::__private::Option<::room::PlayerId> {
            ::room::__private::None
        }
        fn visit<__V: ::room::entity::Visit>(&self, _: &(), _: &mut __V) {}
        fn visit_mut<__V: ::room::entity::VisitMut>(
            &mut self,
            _: &mut (),
            _: &mut __V,
        ) -> ::room::__private::Result<(), __V::Error> {
            ::room::__private::Ok(())
        }
        fn build<__S: ::room::entity::Source>(
            _: &mut __S,
        ) -> ::room::__private::Result<Self, __S::Error> {
            loop {}
        }
    }
};
