#[automatically_derived]
impl ::room::step::Input for Steer {
    fn repeat(&self) -> Self {
        Steer {
            right: <f32 as ::room::__private::Clone>::clone(&self.right),
            jump: <bool as ::room::__private::Default>::default(),
            heading: <u8 as ::room::__private::Clone>::clone(&self.heading),
        }
    }
    fn rest(&self) -> Self {
        Steer {
            right: <f32 as ::room::__private::Default>::default(),
            jump: <bool as ::room::__private::Default>::default(),
            heading: <u8 as ::room::__private::Clone>::clone(&self.heading),
        }
    }
    fn acts(&self) -> bool {
        false
            || !<bool as ::room::__private::PartialEq>::eq(
                &self.jump,
                &<bool as ::room::__private::Default>::default(),
            )
    }
    fn with_actions_of(&self, other: &Self) -> Self {
        let _ = other;
        Steer {
            right: <f32 as ::room::__private::Clone>::clone(&self.right),
            jump: <bool as ::room::__private::Clone>::clone(
                if <bool as ::room::__private::PartialEq>::eq(
                    &self.jump,
                    &<bool as ::room::__private::Default>::default(),
                ) {
                    &other.jump
                } else {
                    &self.jump
                },
            ),
            heading: <u8 as ::room::__private::Clone>::clone(&self.heading),
        }
    }
}
