/// An entity `Avatar` that is open for writing: it reads as one, and has a setter a field.
pub struct AvatarMut<'a>(::room::entity::Write<'a, Avatar>);
/// An entity `Avatar` that its owner writes from a client: it reads as one, and has a setter a writable field.
pub struct AvatarOwned<'a>(::room::entity::Write<'a, Avatar>);
const _: () = {
    type __Codec0 = <PlayerId as ::room::field::Field>::Codec;
    type __Codec1 = ::room::field::Quantized<
        Option<f32>,
        4602678819172646912u64,
        13863909240395005952u64,
        4640537203540230144u64,
    >;
    type __Codec2 = <Sort as ::room::field::Field>::Codec;
    type __Codec3 = <String as ::room::field::Field>::Codec;
    type __Codec4 = <Bytes as ::room::field::Field>::Codec;
    type __Codec5 = <Json<Vec<Avatar>> as ::room::field::Field>::Codec;
    #[doc(hidden)]
    pub struct __Track(
        <__Codec0 as ::room::field::Codec>::Track,
        <__Codec1 as ::room::field::Codec>::Track,
        <__Codec2 as ::room::field::Codec>::Track,
        <__Codec3 as ::room::field::Codec>::Track,
        <__Codec4 as ::room::field::Codec>::Track,
        <<::room::Json<
            (),
        > as ::room::field::Field>::Codec as ::room::field::Codec>::Track,
    );
    #[automatically_derived]
    impl ::room::__private::Default for __Track {
        fn default() -> Self {
            __Track(
                ::room::__private::Default::default(),
                ::room::__private::Default::default(),
                ::room::__private::Default::default(),
                ::room::__private::Default::default(),
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
            f.debug_tuple("Track")
                .field(&self.0)
                .field(&self.1)
                .field(&self.2)
                .field(&self.3)
                .field(&self.4)
                .field(&self.5)
                .finish()
        }
    }
    #[automatically_derived]
    impl ::room::Entity for Avatar {
        type Track = __Track;
        type Writer<'a> = AvatarMut<'a>;
        const KIND: &'static ::room::entity::Kind = &::room::entity::Kind {
            name: "avatar",
            hidden: false,
            ephemeral: false,
            random_ids: true,
            history_ms: 0u32,
            owner: ::room::__private::Some(0usize),
            fields: &[
                ::room::entity::FieldInfo {
                    name: "owner",
                    wire: <__Codec0 as ::room::field::Codec>::WIRE,
                    writable: false,
                    coarse: false,
                },
                ::room::entity::FieldInfo {
                    name: "aim",
                    wire: <__Codec1 as ::room::field::Codec>::WIRE,
                    writable: true,
                    coarse: false,
                },
                ::room::entity::FieldInfo {
                    name: "sort",
                    wire: <__Codec2 as ::room::field::Codec>::WIRE,
                    writable: false,
                    coarse: false,
                },
                ::room::entity::FieldInfo {
                    name: "name",
                    wire: <__Codec3 as ::room::field::Codec>::WIRE,
                    writable: false,
                    coarse: false,
                },
                ::room::entity::FieldInfo {
                    name: "blocks",
                    wire: <__Codec4 as ::room::field::Codec>::WIRE,
                    writable: false,
                    coarse: true,
                },
                ::room::entity::FieldInfo {
                    name: "cards",
                    wire: <__Codec5 as ::room::field::Codec>::WIRE,
                    writable: false,
                    coarse: false,
                },
            ],
        };
        const SENT: ::room::__private::Option<::room::entity::Sent<Self>> = ::room::__private::Some(
            ::room::entity::Sent::new(),
        );
        #[inline]
        fn writer(write: ::room::entity::Write<'_, Self>) -> AvatarMut<'_> {
            AvatarMut(write)
        }
        #[inline]
        fn owner(&self) -> ::room::__private::Option<::room::PlayerId> {
            ::room::__private::Some(self.owner)
        }
        #[inline]
        fn visit<__V: ::room::entity::Visit>(&self, track: &__Track, visit: &mut __V) {
            let _ = (track, &*visit);
            <__V as ::room::entity::Visit>::field::<
                __Codec0,
            >(visit, 0usize, &self.owner, &track.0);
            <__V as ::room::entity::Visit>::field::<
                __Codec1,
            >(visit, 1usize, &self.aim, &track.1);
            <__V as ::room::entity::Visit>::field::<
                __Codec2,
            >(visit, 2usize, &self.r#type, &track.2);
            <__V as ::room::entity::Visit>::field::<
                __Codec3,
            >(visit, 3usize, &self.name, &track.3);
            <__V as ::room::entity::Visit>::field::<
                __Codec4,
            >(visit, 4usize, &self.blocks, &track.4);
            <__V as ::room::entity::Visit>::field::<
                __Codec5,
            >(visit, 5usize, &self.cards, &track.5);
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
            >(visit, 0usize, &mut self.owner, &mut track.0)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec1,
            >(visit, 1usize, &mut self.aim, &mut track.1)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec2,
            >(visit, 2usize, &mut self.r#type, &mut track.2)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec3,
            >(visit, 3usize, &mut self.name, &mut track.3)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec4,
            >(visit, 4usize, &mut self.blocks, &mut track.4)?;
            <__V as ::room::entity::VisitMut>::field::<
                __Codec5,
            >(visit, 5usize, &mut self.cards, &mut track.5)?;
            ::room::__private::Ok(())
        }
        #[inline]
        fn build<__S: ::room::entity::Source>(
            source: &mut __S,
        ) -> ::room::__private::Result<Self, __S::Error> {
            let _ = &*source;
            ::room::__private::Ok(Avatar {
                owner: <__S as ::room::entity::Source>::field::<
                    __Codec0,
                >(source, 0usize)?,
                aim: <__S as ::room::entity::Source>::field::<__Codec1>(source, 1usize)?,
                r#type: <__S as ::room::entity::Source>::field::<
                    __Codec2,
                >(source, 2usize)?,
                name: <__S as ::room::entity::Source>::field::<
                    __Codec3,
                >(source, 3usize)?,
                blocks: <__S as ::room::entity::Source>::field::<
                    __Codec4,
                >(source, 4usize)?,
                cards: <__S as ::room::entity::Source>::field::<
                    __Codec5,
                >(source, 5usize)?,
            })
        }
    }
    #[automatically_derived]
    impl ::room::Visible for Avatar {}
    impl AvatarMut<'_> {
        /// The entity's ID.
        #[must_use]
        pub fn id(&self) -> ::room::Id<Avatar> {
            ::room::Id::assume(self.0.id())
        }
        /// Writes `owner`.
        #[inline]
        pub fn set_owner(
            &mut self,
            value: PlayerId,
        ) -> <__Codec0 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec0,
                >(0usize, |entity, track| (&mut entity.owner, &mut track.0), value)
        }
        /// Writes `aim`.
        #[inline]
        pub fn set_aim(
            &mut self,
            value: Option<f32>,
        ) -> <__Codec1 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec1,
                >(1usize, |entity, track| (&mut entity.aim, &mut track.1), value)
        }
        /// Writes `type`.
        #[inline]
        pub fn set_type(
            &mut self,
            value: Sort,
        ) -> <__Codec2 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec2,
                >(2usize, |entity, track| (&mut entity.r#type, &mut track.2), value)
        }
        /** Writes `name`.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        #[inline]
        pub fn set_name(
            &mut self,
            value: String,
        ) -> <__Codec3 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec3,
                >(3usize, |entity, track| (&mut entity.name, &mut track.3), value)
        }
        /** Writes `blocks`.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        #[inline]
        pub(crate) fn set_blocks(
            &mut self,
            value: Bytes,
        ) -> <__Codec4 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec4,
                >(4usize, |entity, track| (&mut entity.blocks, &mut track.4), value)
        }
        /** Writes `bytes` at `offset` of `blocks`. Past its end it grows, and a gap fills with zeros.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        pub(crate) fn patch_blocks(
            &mut self,
            offset: usize,
            bytes: &[u8],
        ) -> ::room::__private::Result<(), ::room::WriteError> {
            self.0
                .patch(
                    4usize,
                    |entity, track| (&mut entity.blocks, &mut track.4),
                    offset,
                    bytes,
                )
        }
        /** Writes `cards`.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        #[inline]
        fn set_cards(
            &mut self,
            value: Json<Vec<Avatar>>,
        ) -> <__Codec5 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec5,
                >(5usize, |entity, track| (&mut entity.cards, &mut track.5), value)
        }
        /** Changes `cards` in place, and returns what `change` does.

 # Errors
 A value that passes a limit is refused, and nothing changes.*/
        fn update_cards<__R>(
            &mut self,
            change: impl ::room::__private::FnOnce(&mut Vec<Avatar>) -> __R,
        ) -> ::room::__private::Result<__R, ::room::WriteError> {
            self.0
                .update(
                    5usize,
                    |entity, track| (&mut entity.cards, &mut track.5),
                    change,
                )
        }
    }
    #[automatically_derived]
    impl ::room::__private::Deref for AvatarMut<'_> {
        type Target = Avatar;
        #[inline]
        fn deref(&self) -> &Avatar {
            self.0.value()
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for AvatarMut<'_> {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("AvatarMut").field(self.0.value()).finish()
        }
    }
    #[automatically_derived]
    impl ::room::Owned for Avatar {
        type Owned<'a> = AvatarOwned<'a>;
        fn owned(write: ::room::entity::Write<'_, Self>) -> AvatarOwned<'_> {
            AvatarOwned(write)
        }
    }
    impl AvatarOwned<'_> {
        /// The entity's ID.
        #[must_use]
        pub fn id(&self) -> ::room::Id<Avatar> {
            ::room::Id::assume(self.0.id())
        }
        /// Writes `aim`.
        #[inline]
        pub fn set_aim(
            &mut self,
            value: Option<f32>,
        ) -> <__Codec1 as ::room::field::Codec>::Outcome {
            self.0
                .set::<
                    __Codec1,
                >(1usize, |entity, track| (&mut entity.aim, &mut track.1), value)
        }
    }
    #[automatically_derived]
    impl ::room::__private::Deref for AvatarOwned<'_> {
        type Target = Avatar;
        #[inline]
        fn deref(&self) -> &Avatar {
            self.0.value()
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for AvatarOwned<'_> {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("AvatarOwned").field(self.0.value()).finish()
        }
    }
    impl Avatar {
        /// The field `owner`.
        pub const OWNER: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            0usize,
        );
        /// The field `aim`.
        pub const AIM: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            1usize,
        );
        /// The field `type`.
        pub const TYPE: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            2usize,
        );
        /// The field `name`.
        pub const NAME: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            3usize,
        );
        /// The field `blocks`.
        pub const BLOCKS: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            4usize,
        );
        /// The field `cards`.
        pub const CARDS: ::room::entity::FieldRef<Avatar> = ::room::entity::FieldRef::new(
            5usize,
        );
    }
};
