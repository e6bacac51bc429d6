::core::compile_error! {
    "an input is a struct with named fields: what a player does in one tick"
}
impl my_room::step::Input for Pair
where
    Self: my_room::__private::Default,
{
    fn repeat(&self) -> Self {
        loop {}
    }
    fn rest(&self) -> Self {
        loop {}
    }
    fn acts(&self) -> bool {
        loop {}
    }
    fn with_actions_of(&self, _: &Self) -> Self {
        loop {}
    }
}
