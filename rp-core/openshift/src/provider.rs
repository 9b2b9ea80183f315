//! The provider spec of machines on Azure. Its keys are matched in any case, as Go does it (`contract/portal.md` §8.9).

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::lenient::{Int, LenientVisitor, Present, SerdeAdapter, member};
use crate::reader::{Member, Reader};

/// `providerSpec`, wherever it stands.
#[derive(Debug, Default, Clone, serde::Deserialize)]
#[serde(default, bound = "")]
pub struct Provider<R: Reader> {
    /// `None`: the provider spec is not an object.
    #[serde(deserialize_with = "member")]
    pub value: Option<ProviderSpec<R>>,
}

/// An object whose members are found by their names in any case.
trait AnyCase: Default {
    const NAMES: &'static [&'static str];

    /// Reads the value of the member of this name, one of [`Self::NAMES`].
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error>;
}

/// One of these names, in any case.
struct Name(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().copied().find(|known| known.eq_ignore_ascii_case(name)))
    }
}

struct AsAnyCase<T>(PhantomData<T>);

impl<'de, T: AnyCase> LenientVisitor<'de> for AsAnyCase<T> {
    type Out = T;

    fn nothing(self) -> T {
        T::default()
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut out = T::default();
        while let Some(name) = map.next_key_seed(Name(T::NAMES))? {
            match name {
                Some(name) => out.take(name, &mut map)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(out)
    }
}

/// A member that reads itself, as a value of a map.
struct Value<M>(M);

impl<'de, M: Member> Deserialize<'de> for Value<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        M::read(deserializer).map(Self)
    }
}

macro_rules! any_case {
    ($(#[$doc:meta])* $type:ident { $($(#[$about:meta])* $field:ident: $name:literal => $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Clone)]
        pub struct $type<R: Reader> {
            $($(#[$about])* pub $field: $kind,)*
        }

        impl<R: Reader> AnyCase for $type<R> {
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn take<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $($name => self.$field = map.next_value::<Value<$kind>>()?.0,)*
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
                Ok(())
            }
        }

        impl<'de, R: Reader> Deserialize<'de> for $type<R> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                SerdeAdapter(AsAnyCase(PhantomData)).deserialize(deserializer)
            }
        }

        impl<R: Reader> Member for $type<R> {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    };
}

any_case!(
    /// `machine.openshift.io/v1beta1`, `AzureMachineProviderSpec`.
    ProviderSpec {
        /// On a spot virtual machine.
        spot: "spotVMOptions" => Present,
        vm_size: "vmSize" => R::More<R::Text<128>>,
        zone: "zone" => R::More<R::Text<64>>,
        network_resource_group: "networkResourceGroup" => R::More<R::Text<128>>,
        vnet: "vnet" => R::More<R::Text<128>>,
        subnet: "subnet" => R::More<R::Text<128>>,
        public_load_balancer: "publicLoadBalancer" => R::More<R::Text<253>>,
        os_disk: "osDisk" => R::More<OsDisk<R>>,
        user_data_secret: "userDataSecret" => R::More<UserDataSecret<R>>,
        security_profile: "securityProfile" => R::More<SecurityProfile<R>>,
    }
);

any_case!(
    OsDisk {
        size_gb: "diskSizeGB" => Int,
        managed_disk: "managedDisk" => ManagedDisk<R>,
    }
);

any_case!(
    ManagedDisk {
        storage_account_type: "storageAccountType" => R::Text<128>,
        disk_encryption_set: "diskEncryptionSet" => SetId<R>,
    }
);

any_case!(
    /// The id of a disk encryption set.
    SetId {
        id: "id" => R::Text<512>,
    }
);

any_case!(
    /// Of the secret with the first configuration of a machine, in its own namespace.
    UserDataSecret {
        name: "name" => R::Text<253>,
    }
);

any_case!(
    SecurityProfile {
        encryption_at_host: "encryptionAtHost" => R::More<bool>,
    }
);
