/// An entity `Marker` that is open for writing: it reads as one, and has a setter a field.
struct MarkerMut<'a>(::room::entity::Write<'a, Marker>);
const _: () = {
    #[doc(hidden)]
    pub struct __Track();
    #[automatically_derived]
    impl ::room::__private::Default for __Track {
        fn default() -> Self {
            __Track()
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for __Track {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("Track").finish()
        }
    }
    #[automatically_derived]
    impl ::room::Entity for Marker {
        type Track = __Track;
        type Writer<'a> = MarkerMut<'a>;
        const KIND: &'static ::room::entity::Kind = &::room::entity::Kind {
            name: "marker",
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
        fn writer(write: ::room::entity::Write<'_, Self>) -> MarkerMut<'_> {
            MarkerMut(write)
        }
        #[inline]
        fn owner(&self) -> ::room::__private::Option<::room::PlayerId> {
            ::room::__private::None
        }
        #[inline]
        fn visit<__V: ::room::entity::Visit>(&self, track: &__Track, visit: &mut __V) {
            let _ = (track, &*visit);
        }
        #[inline]
        fn visit_mut<__V: ::room::entity::VisitMut>(
            &mut self,
            track: &mut __Track,
            visit: &mut __V,
        ) -> ::room::__private::Result<(), __V::Error> {
            let _ = (&*track, &*visit);
            ::room::__private::Ok(())
        }
        #[inline]
        fn build<__S: ::room::entity::Source>(
            source: &mut __S,
        ) -> ::room::__private::Result<Self, __S::Error> {
            let _ = &*source;
            ::room::__private::Ok(Marker {})
        }
    }
    #[automatically_derived]
    impl ::room::Visible for Marker {}
    impl MarkerMut<'_> {
        /// The entity's ID.
        #[must_use]
        fn id(&self) -> ::room::Id<Marker> {
            ::room::Id::assume(self.0.id())
        }
    }
    #[automatically_derived]
    impl ::room::__private::Deref for MarkerMut<'_> {
        type Target = Marker;
        #[inline]
        fn deref(&self) -> &Marker {
            self.0.value()
        }
    }
    #[automatically_derived]
    impl ::room::__private::Debug for MarkerMut<'_> {
        fn fmt(
            &self,
            f: &mut ::room::__private::Formatter<'_>,
        ) -> ::room::__private::FmtResult {
            f.debug_tuple("MarkerMut").field(self.0.value()).finish()
        }
    }
    impl Marker {}
};
