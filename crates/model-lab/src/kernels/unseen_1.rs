//! Thirty kernels from six fields, in the style of published code. They were frozen, with their
//! native cycles, before golden-cove 15 first ran them.

mod codecs;
mod maps;
mod numeric;
mod parsers;
mod sorting;
mod text;

use super::Kernel;

pub fn kernels() -> Vec<Kernel> {
    let mut kernels = parsers::kernels();
    kernels.extend(maps::kernels());
    kernels.extend(sorting::kernels());
    kernels.extend(codecs::kernels());
    kernels.extend(numeric::kernels());
    kernels.extend(text::kernels());
    kernels
}
