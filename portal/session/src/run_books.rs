//! Where the run-books are: `[portal] runbooks`, per cloud and team, never compiled in.

/// Addresses of run-books by what they are for.
#[derive(Debug, Clone, Default)]
pub struct RunBooks(Vec<(String, String)>);

/// Placeholder of the name in an address.
const NAME: &str = "{name}";

impl RunBooks {
    /// From pairs of a name and an `https` address; the name `*` is for all others. `{name}` in an address stands
    /// for the operator's name.
    pub fn new(books: Vec<(String, String)>) -> Self {
        Self(books)
    }

    /// The run-book of a cluster operator, or empty.
    pub fn for_operator(&self, name: &str) -> String {
        let own = self.0.iter().find(|(of, _)| of == name);
        let found = own.or_else(|| self.0.iter().find(|(of, _)| of == "*"));
        let address =
            found.map(|(_, address)| address.as_str()).filter(|address| address.starts_with("https://"));
        address.map(|address| address.replace(NAME, &web::text::encode(name))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_encoded_and_the_scheme_is_ours_to_choose() {
        let books = RunBooks::new(vec![
            ("etcd".into(), "https://books.example/lost-member".into()),
            ("dns".into(), "javascript:alert(1)".into()),
            ("*".into(), "https://books.example/operators/{name}?v=1".into()),
        ]);
        assert_eq!(books.for_operator("etcd"), "https://books.example/lost-member");
        assert_eq!(books.for_operator("dns"), "");
        assert_eq!(books.for_operator("a/../b"), "https://books.example/operators/a%2F..%2Fb?v=1");
        assert_eq!(RunBooks::default().for_operator("etcd"), "");
    }
}
