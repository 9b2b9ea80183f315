//! Writes every sample and the assets into a folder, to look at them:
//! `cargo run -p web-samples --example gallery -- DIR && python3 -m http.server -d DIR`

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("usage: gallery DIR"))?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let mut index = String::from("<!doctype html><meta charset=utf-8><title>Samples</title><ul>");
    for item in web_samples::gallery().map_err(io::Error::other)? {
        fs::write(folder.join(format!("{}.html", item.name)), &item.html)?;
        index.push_str(&format!("<li><a href=\"{0}.html\">{0}</a>", item.name));
    }
    fs::write(folder.join("index.html"), index)?;
    for name in web::assets::names() {
        let url = web::assets::url(name);
        let path = folder.join(url.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, web::assets::get(&url).map_or(&[][..], |a| a.bytes))?;
    }
    Ok(())
}
