//! CPUs as data: which events make up the categories on which core, and by which formula.
