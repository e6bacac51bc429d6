//! Raw identifiers lose their `r#` on the wire, in setters and in constants.

use room::prelude::*;

#[derive(FieldEnum, Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
enum r#enum {
    r#as,
    r#Else = 7,
}

#[derive(Entity, Clone, Debug)]
#[allow(non_camel_case_types)]
#[entity(owner = r#move)]
struct r#struct {
    r#move: PlayerId,
    #[field(writable)]
    r#type: u8,
    r#enum: r#enum,
    r#loop: Bytes,
    r#mod: Json<Vec<u8>>,
}

fn write(writer: &mut structMut<'_>) -> Result<(), room::WriteError> {
    writer.set_type(3);
    writer.set_enum(r#enum::Else);
    writer.patch_loop(3, &[1])?;
    writer.update_mod(|list| list.push(1))?;
    assert_eq!(writer.r#type, 3);
    Ok(())
}

fn main() {
    let names: Vec<_> = r#struct::KIND.fields.iter().map(|f| f.name).collect();
    assert_eq!(names, ["move", "type", "enum", "loop", "mod"]);
    assert_eq!(r#struct::KIND.name, "struct");
    assert_eq!(r#struct::KIND.owner, Some(0));
    assert_eq!(r#struct::TYPE.index(), 1);
    assert_eq!(<r#enum as FieldEnum>::VARIANTS, [("as", 0), ("Else", 7)]);
    let _ = write;
}
