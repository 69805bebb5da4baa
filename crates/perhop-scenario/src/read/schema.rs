//! JSON Schema of a file.

use schemars::JsonSchema;
use serde_json::Value as Json;

/// The schema of any file, made from its struct.
pub(crate) fn schema_of<File: JsonSchema>() -> Json {
    let mut schema = schemars::schema_for!(File).to_value();
    tidy(&mut schema);
    schema
}

/// Line breaks in descriptions are those of the source code, and a default of null says that there is none.
fn tidy(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            map.retain(|key, value| key != "default" || !value.is_null());
            for (key, value) in map {
                match value {
                    Json::String(text) if key == "description" => *text = text.replace('\n', " "),
                    value => tidy(value),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
