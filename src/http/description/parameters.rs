//! Parameters of requests whose description cannot be derived. Their limits come from the types that check them.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{KnownFormat, RefOr, Required, SchemaFormat};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::super::extract::Key;
use super::super::query::{Text, Whole};

impl IntoParams for Key {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // This accepts what `ask::AskKey` accepts, except that it does not limit the length of each part.
        const PATTERN: &str = "^_?[A-Za-z0-9.:-]+(_[A-Za-z0-9.:-]+)*__[A-Za-z0-9._:-]+$";
        const MAX_LENGTH: usize = 258;
        let schema = ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX_LENGTH)).pattern(Some(PATTERN));
        let key = ParameterBuilder::new()
            .name("key")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("The key of the ask: `session__toolUseId`."))
            .schema(Some(schema));
        vec![key.build()]
    }
}

impl<const MIN: u64, const MAX: u64> PartialSchema for Whole<MIN, MAX> {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
        let schema = ObjectBuilder::new().schema_type(Type::Integer).format(Some(format));
        schema.minimum(Some(MIN)).maximum(Some(MAX)).into()
    }
}

impl<const MIN: u64, const MAX: u64> ToSchema for Whole<MIN, MAX> {}

impl<const MAX: usize> PartialSchema for Text<MAX> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX)).into()
    }
}

impl<const MAX: usize> ToSchema for Text<MAX> {}
