//! The world that naia's ends read and write: a table with one component an entity.

use naia_shared::{
    ComponentFieldUpdate, ComponentKind, ComponentKinds, ComponentUpdate, EntityAndGlobalEntityConverter,
    GlobalWorldManagerType, LocalEntityAndGlobalEntityConverter, ReplicaDynMut, ReplicaDynMutWrapper,
    ReplicaDynRef, ReplicaDynRefWrapper, ReplicaMutTrait, ReplicaMutWrapper, ReplicaRefTrait,
    ReplicaRefWrapper, Replicate, ReplicatedComponent, SerdeErr, WorldMutType, WorldRefType,
};

use crate::kinds::Kind;

enum Slot<K> {
    Free,
    Bare,
    Full(Box<K>),
}

/// Entities by number.
pub struct Land<K> {
    slots: Vec<Slot<K>>,
    free: Vec<u32>,
}

impl<K: Kind> Land<K> {
    /// An empty one.
    pub fn new() -> Self {
        Land { slots: Vec::new(), free: Vec::new() }
    }

    /// All components.
    pub fn all(&self) -> impl Iterator<Item = &K> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Full(component) => Some(&**component),
            _ => None,
        })
    }

    /// An entity's component.
    pub fn get(&self, entity: u32) -> Option<&K> {
        match self.slots.get(entity as usize)? {
            Slot::Full(component) => Some(component),
            _ => None,
        }
    }

    /// An entity's component, to write.
    pub fn get_mut(&mut self, entity: u32) -> Option<&mut K> {
        match self.slots.get_mut(entity as usize)? {
            Slot::Full(component) => Some(component),
            _ => None,
        }
    }

    /// For reading.
    pub fn look(&self) -> Look<'_, K> {
        Look(self)
    }

    /// For writing.
    pub fn touch(&mut self) -> Touch<'_, K> {
        Touch(self)
    }

    fn has(&self, entity: u32) -> bool {
        !matches!(self.slots.get(entity as usize), None | Some(Slot::Free))
    }

    fn entities(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|entity| self.has(*entity)).collect()
    }

    fn component<C: Replicate>(&self, entity: u32) -> Option<&C> {
        self.get(entity)?.to_any().downcast_ref()
    }
}

/// Reads a land.
pub struct Look<'l, K>(&'l Land<K>);

/// Writes a land.
pub struct Touch<'l, K>(&'l mut Land<K>);

struct Ref<'c, C>(&'c C);

struct Mut<'c, C>(&'c mut C);

impl<C: Replicate> ReplicaRefTrait<C> for Ref<'_, C> {
    fn to_ref(&self) -> &C {
        self.0
    }
}

impl<C: Replicate> ReplicaRefTrait<C> for Mut<'_, C> {
    fn to_ref(&self) -> &C {
        self.0
    }
}

impl<C: Replicate> ReplicaMutTrait<C> for Mut<'_, C> {
    fn to_mut(&mut self) -> &mut C {
        self.0
    }
}

macro_rules! reads {
    ($proxy:ident) => {
        impl<K: Kind> WorldRefType<u32> for $proxy<'_, K> {
            fn has_entity(&self, entity: &u32) -> bool {
                self.0.has(*entity)
            }

            fn entities(&self) -> Vec<u32> {
                self.0.entities()
            }

            fn has_component<R: ReplicatedComponent>(&self, entity: &u32) -> bool {
                self.0.component::<R>(*entity).is_some()
            }

            fn has_component_of_kind(&self, entity: &u32, kind: &ComponentKind) -> bool {
                *kind == ComponentKind::of::<K>() && self.0.get(*entity).is_some()
            }

            fn component<'a, R: ReplicatedComponent>(
                &'a self,
                entity: &u32,
            ) -> Option<ReplicaRefWrapper<'a, R>> {
                Some(ReplicaRefWrapper::new(Ref(self.0.component::<R>(*entity)?)))
            }

            fn component_of_kind<'a>(
                &'a self,
                entity: &u32,
                kind: &ComponentKind,
            ) -> Option<ReplicaDynRefWrapper<'a>> {
                let component = self.0.get(*entity).filter(|_| *kind == ComponentKind::of::<K>())?;
                Some(ReplicaDynRefWrapper::new(ReplicaDynRef::new(component)))
            }
        }
    };
}

reads!(Look);
reads!(Touch);

/// What only entities of clients need, of which there are none here.
const NO_CLIENT_ENTITIES: &str = "clients own no entities";

impl<K: Kind> WorldMutType<u32> for Touch<'_, K> {
    fn spawn_entity(&mut self) -> u32 {
        if let Some(entity) = self.0.free.pop() {
            self.0.slots[entity as usize] = Slot::Bare;
            return entity;
        }
        self.0.slots.push(Slot::Bare);
        self.0.slots.len() as u32 - 1
    }

    fn local_duplicate_entity(&mut self, _: &u32) -> u32 {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn local_duplicate_components(&mut self, _: &u32, _: &u32) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn despawn_entity(&mut self, entity: &u32) {
        self.0.slots[*entity as usize] = Slot::Free;
        self.0.free.push(*entity);
    }

    fn component_kinds(&mut self, entity: &u32) -> Vec<ComponentKind> {
        self.0.get(*entity).map(|_| ComponentKind::of::<K>()).into_iter().collect()
    }

    fn component_mut<'a, R: ReplicatedComponent>(
        &'a mut self,
        entity: &u32,
    ) -> Option<ReplicaMutWrapper<'a, R>> {
        let component: &mut R = self.0.get_mut(*entity)?.to_any_mut().downcast_mut()?;
        Some(ReplicaMutWrapper::new(Mut(component)))
    }

    fn component_mut_of_kind<'a>(
        &'a mut self,
        entity: &u32,
        kind: &ComponentKind,
    ) -> Option<ReplicaDynMutWrapper<'a>> {
        let component = self.0.get_mut(*entity).filter(|_| *kind == ComponentKind::of::<K>())?;
        Some(ReplicaDynMutWrapper::new(ReplicaDynMut::new(component)))
    }

    fn component_apply_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &u32,
        _: &ComponentKind,
        update: ComponentUpdate,
    ) -> Result<(), SerdeErr> {
        self.0.get_mut(*entity).map_or(Ok(()), |component| component.read_apply_update(converter, update))
    }

    fn component_apply_field_update(
        &mut self,
        converter: &dyn LocalEntityAndGlobalEntityConverter,
        entity: &u32,
        _: &ComponentKind,
        update: ComponentFieldUpdate,
    ) -> Result<(), SerdeErr> {
        self.0
            .get_mut(*entity)
            .map_or(Ok(()), |component| component.read_apply_field_update(converter, update))
    }

    fn mirror_entities(&mut self, _: &u32, _: &u32) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn mirror_components(&mut self, _: &u32, _: &u32, _: &ComponentKind) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn insert_component<R: ReplicatedComponent>(&mut self, entity: &u32, component: R) {
        self.insert_boxed_component(entity, Box::new(component));
    }

    fn insert_boxed_component(&mut self, entity: &u32, component: Box<dyn Replicate>) {
        let component = component.to_boxed_any().downcast::<K>().expect("there is one kind");
        self.0.slots[*entity as usize] = Slot::Full(component);
    }

    fn remove_component<R: ReplicatedComponent>(&mut self, entity: &u32) -> Option<R> {
        let boxed = self.remove_component_of_kind(entity, &ComponentKind::of::<R>())?;
        boxed.to_boxed_any().downcast().ok().map(|component| *component)
    }

    fn remove_component_of_kind(&mut self, entity: &u32, _: &ComponentKind) -> Option<Box<dyn Replicate>> {
        let slot = self.0.slots.get_mut(*entity as usize)?;
        match std::mem::replace(slot, Slot::Bare) {
            Slot::Full(component) => Some(component),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn entity_publish(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<u32>,
        _: &dyn GlobalWorldManagerType,
        _: &u32,
    ) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn component_publish(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<u32>,
        _: &dyn GlobalWorldManagerType,
        _: &u32,
        _: &ComponentKind,
    ) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn entity_unpublish(&mut self, _: &u32) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn component_unpublish(&mut self, _: &u32, _: &ComponentKind) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn entity_enable_delegation(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<u32>,
        _: &dyn GlobalWorldManagerType,
        _: &u32,
    ) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn component_enable_delegation(
        &mut self,
        _: &ComponentKinds,
        _: &dyn EntityAndGlobalEntityConverter<u32>,
        _: &dyn GlobalWorldManagerType,
        _: &u32,
        _: &ComponentKind,
    ) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn entity_disable_delegation(&mut self, _: &u32) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }

    fn component_disable_delegation(&mut self, _: &u32, _: &ComponentKind) {
        unreachable!("{NO_CLIENT_ENTITIES}")
    }
}
