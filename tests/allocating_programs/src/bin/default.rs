//! With the default allocator.

#[path = "../work.rs"]
mod work;

fn main() {
    work::print(|_| {});
}
