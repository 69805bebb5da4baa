//! x
#[test]
fn perf() {
    for f in ["/tmp/scn-many.toml", "/tmp/scn-bad.toml"] {
        let b = std::fs::read(f).unwrap();
        #[allow(clippy::disallowed_methods)]
        let t = std::time::Instant::now();
        let l = perhop_scenario::load(&b, "x", &[]);
        println!("{} load {:?} {:?}", b.len(), t.elapsed(), l.as_ref().map(|_| ()).map_err(|e| e.len()));
        if let Err(e) = l {
            println!("{}", perhop_scenario::render(&e[5], false));
        }
    }
    let text = format!("run = {{ duration = \"1s\", seed = \"{}\" }}", "x".repeat(100_000));
    for d in perhop_scenario::load(text.as_bytes(), "x", &[]).unwrap_err() {
        println!("{}", perhop_scenario::render(&d, false));
    }
}
