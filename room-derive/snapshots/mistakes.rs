::core::compile_error! {
    "unknown key `nmae`: `#[entity(…)]` knows name, hidden, ephemeral, owner, ids, history and crate"
}
::core::compile_error! {
    "no field can be called `id`: an entity has its own id; rename the field"
}
/// An entity `Rock` that is open for writing: it reads as one, and has a setter a field.
struct RockMut<'a>(::room::entity::Write<'a, Rock>);
const _: () = {
    type __Codec0 = <u8 as ::room::field::Field>::Codec;
    type __Codec1 = <f32 as ::room::field::Field>::Codec;
    #[doc(hidden)]
    pub struct __Track(
        <__Codec0 as ::room::field::Codec>::Track,
        <__Codec1 as ::room::field::Codec>::Track,
    );
    #[automatically_derived]
    impl ::room::__private::Default for __Track {
        fn default() -> Self {
            __Track(
                ::room::__private::Default::default(),
                ::room::__private::Default::default(),
            )
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for __Track {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("Track").field(&self.0).field(&self.1).finish()
        }
    }
    #[automatically_derived]
    impl ::room::Entity for Rock {
        type Track = __Track;
        type Writer<'a> = RockMut<'a>;
        const KIND: &'static ::room::entity::Kind = &::room::entity::Kind {
            name: "rock",
            hidden: false,
            ephemeral: false,
            random_ids: false,
            history_ms: 0u32,
            owner: ::room::__private::None,
            fields: &[],
        };
        const SENT: ::room::__private::Option<::room::entity::Sent<Self>> = ::room::__private::Some(
            ::room::entity::Sent::new(),
        );
        #[inline]
        fn writer(write: ::room::entity::Write<'_, Self>) -> RockMut<'_> {
            RockMut(write)
        }
        #[inline]
        fn owner(&self) -> ::room::__private::Option<::room::PlayerId> {
            ::room::__private::None
        }
        #[inline]
        fn visit<__V: ::room::entity::Visit>(&self, track: &__Track, visit: &mut __V) {
            let _ = (track, &*visit);
            <__V as ::room::entity::Visit>::field::<
                __Codec0,
            >(visit, 0usize, &self.id, &track.0);
            <__V as ::room::entity::Visit>::field::<
                __Codec1,
            >(visit, 1usize, &self.x, &track.1);
        }
        #[inline]
        fn visit_mut<__V: ::room::entity::VisitMut>(
            &mut self,
            track: &mut __Track,
            visit: &mut __V,
        ) -> ::room::__private::Result<(), __V::Error> {
            let _ = (&*track, &*visit);
            <__V as ::room::entity::VisitMut>::field::<
                __Codec0,
            >(visit, 0usize, &mut self.id, &mut track.0)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec1,
            >(visit, 1usize, &mut self.x, &mut track.1)?;
            ::room::__private::Ok(())
        }
        #[inline]
        fn build<__S: ::room::entity::Source>(
            source: &mut __S,
        ) -> ::room::__private::Result<Self, __S::Error> {
            let _ = &*source;
            ::room::__private::Ok(Rock {
                id: <__S as ::room::entity::Source>::field::<__Codec0>(source, 0usize)?,
                x: <__S as ::room::entity::Source>::field::<__Codec1>(source, 1usize)?,
            })
        }
    }
    #[automatically_derived]
    impl ::room::Visible for Rock {}
    impl RockMut<'_> {
        /// The entity's ID.
        #[must_use]
        fn id(&self) -> ::room::Id<Rock> {
            ::room::Id::assume(self.0.id())
        }
        /// Writes `id`.
        #[inline]
        fn set_id(&mut self, value: u8) -> <__Codec0 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec0,
                >(0usize, |entity, track| (&mut entity.id, &mut track.0), value)
        }
        /// Writes `x`.
        #[inline]
        fn set_x(&mut self, value: f32) -> <__Codec1 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec1,
                >(1usize, |entity, track| (&mut entity.x, &mut track.1), value)
        }
    }
    #[automatically_derived]
    impl ::room::__private::Deref for RockMut<'_> {
        type Target = Rock;
        #[inline]
        fn deref(&self) -> &Rock {
            self.0.value()
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for RockMut<'_> {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("RockMut").field(self.0.value()).finish()
        }
    }
    impl Rock {
        /// The field `id`.
        const ID: ::room::entity::FieldRef<Rock> = ::room::entity::FieldRef::new(0usize);
        /// The field `x`.
        const X: ::room::entity::FieldRef<Rock> = ::room::entity::FieldRef::new(1usize);
    }
};
