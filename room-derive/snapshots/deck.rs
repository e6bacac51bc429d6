/// An entity `Deck` that is open for writing: it reads as one, and has a setter a field.
struct DeckMut<'a>(my_room::entity::Write<'a, Deck>);
const _: () = {
    type __Codec0 = <Json<Vec<u8>> as my_room::field::Field>::Codec;
    #[doc(hidden)]
    pub struct __Track(
        <<my_room::Json<
            (),
        > as my_room::field::Field>::Codec as my_room::field::Codec>::Track,
    );
    #[automatically_derived]
    impl my_room::__private::Default for __Track {
        fn default() -> Self {
            __Track(my_room::__private::Default::default())
        }
    }
    #[automatically_derived]
    impl my_room::__private::Debug for __Track {
        fn fmt(
            &self,
            f: &mut my_room::__private::Formatter<'_>,
        ) -> my_room::__private::FmtResult {
            f.debug_tuple("Track").field(&self.0).finish()
        }
    }
    #[automatically_derived]
    impl my_room::Entity for Deck {
        type Track = __Track;
        type Writer<'a> = DeckMut<'a>;
        const KIND: &'static my_room::entity::Kind = &my_room::entity::Kind {
            name: "cards",
            hidden: true,
            ephemeral: true,
            random_ids: false,
            history_ms: 0u32,
            owner: my_room::__private::None,
            fields: &[
                my_room::entity::FieldInfo {
                    name: "order",
                    wire: <__Codec0 as my_room::field::Codec>::WIRE,
                    writable: false,
                    coarse: false,
                },
            ],
        };
        const SENT: my_room::__private::Option<my_room::entity::Sent<Self>> = my_room::__private::None;
        #[inline]
        fn writer(write: my_room::entity::Write<'_, Self>) -> DeckMut<'_> {
            DeckMut(write)
        }
        #[inline]
        fn owner(&self) -> my_room::__private::Option<my_room::PlayerId> {
            my_room::__private::None
        }
        #[inline]
        fn visit<__V: my_room::entity::Visit>(&self, track: &__Track, visit: &mut __V) {
            let _ = (track, &*visit);
            <__V as my_room::entity::Visit>::field::<
                __Codec0,
            >(visit, 0usize, &self.order, &track.0);
        }
        #[inline]
        fn visit_mut<__V: my_room::entity::VisitMut>(
            &mut self,
            track: &mut __Track,
            visit: &mut __V,
        ) -> my_room::__private::Result<(), __V::Error> {
            let _ = (&*track, &*visit);
            <__V as my_room::entity::VisitMut>::field::<
                __Codec0,
            >(visit, 0usize, &mut self.order, &mut track.0)?;
            my_room::__private::Ok(())
        }
        #[inline]
        fn build<__S: my_room::entity::Source>(
            source: &mut __S,
        ) -> my_room::__private::Result<Self, __S::Error> {
            let _ = &*source;
            my_room::__private::Ok(Deck {
                order: <__S as my_room::entity::Source>::field::<
                    __Codec0,
                >(source, 0usize)?,
            })
        }
    }
    impl DeckMut<'_> {
        /// The entity's ID.
        #[must_use]
        fn id(&self) -> my_room::Id<Deck> {
            my_room::Id::assume(self.0.id())
        }
        /** Writes `order`.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        #[inline]
        fn set_order(
            &mut self,
            value: Json<Vec<u8>>,
        ) -> <__Codec0 as my_room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec0,
                >(0usize, |entity, track| (&mut entity.order, &mut track.0), value)
        }
        /** Changes `order` in place, and returns what `change` does.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        fn update_order<__R>(
            &mut self,
            change: impl my_room::__private::FnOnce(&mut Vec<u8>) -> __R,
        ) -> my_room::__private::Result<__R, my_room::WriteError> {
            self.0
                .update(
                    0usize,
                    |entity, track| (&mut entity.order, &mut track.0),
                    change,
                )
        }
    }
    #[automatically_derived]
    impl my_room::__private::Deref for DeckMut<'_> {
        type Target = Deck;
        #[inline]
        fn deref(&self) -> &Deck {
            self.0.value()
        }
    }
    #[automatically_derived]
    impl my_room::__private::Debug for DeckMut<'_> {
        fn fmt(
            &self,
            f: &mut my_room::__private::Formatter<'_>,
        ) -> my_room::__private::FmtResult {
            f.debug_tuple("DeckMut").field(self.0.value()).finish()
        }
    }
    impl Deck {
        /// The field `order`.
        const ORDER: my_room::entity::FieldRef<Deck> = my_room::entity::FieldRef::new(
            0usize,
        );
    }
};
