//! Writes JSON.

use std::fmt::{Arguments, Display};
use std::io::{self, Write};

/// A JSON document under construction.
// Every bench of every user compiles this, so code common to all fields is compiled only once.
pub(super) struct Json<'a> {
    out: &'a mut dyn Write,
    /// Whether the open object or array is still empty, or a name has just been written.
    begins: bool,
    /// The first error.
    result: io::Result<()>,
}

impl<'a> Json<'a> {
    pub fn to(out: &'a mut dyn Write) -> Json<'a> {
        Json {
            out,
            begins: true,
            result: Ok(()),
        }
    }

    /// Ends the line, and returns the first error of writing it.
    pub fn end_line(mut self) -> io::Result<()> {
        self.literal("\n");
        self.result
    }

    #[inline(never)]
    fn write(&mut self, what: Arguments<'_>) {
        if self.result.is_ok() {
            self.result = self.out.write_fmt(what);
        }
    }

    fn literal(&mut self, text: &str) {
        self.write(format_args!("{text}"));
    }

    /// Writes a comma, unless this is the first element.
    #[inline(never)]
    fn separate(&mut self) {
        if !std::mem::take(&mut self.begins) {
            self.literal(",");
        }
    }

    /// Begins an object or array, with its bracket.
    #[inline(never)]
    pub fn open(&mut self, bracket: &str) {
        self.separate();
        self.literal(bracket);
        self.begins = true;
    }

    /// Ends an object or array.
    #[inline(never)]
    pub fn close(&mut self, bracket: &str) {
        self.begins = false;
        self.literal(bracket);
    }

    /// Writes a value whose text is valid JSON, such as an integer.
    #[inline(never)]
    pub fn value(&mut self, value: &dyn Display) {
        self.separate();
        self.write(format_args!("{value}"));
    }

    /// Writes the shortest digits that read back as the same number.
    #[inline(never)]
    pub fn number(&mut self, number: f64) {
        if number.is_finite() {
            self.value(&format_args!("{number:?}"));
        } else {
            self.value(&"null");
        }
    }

    #[inline(never)]
    pub fn string(&mut self, string: &str) {
        self.separate();
        self.literal("\"");
        for char in string.chars() {
            match char {
                '"' | '\\' => self.write(format_args!("\\{char}")),
                '\0'..='\x1f' => self.write(format_args!("\\u{:04x}", u32::from(char))),
                _ => self.write(format_args!("{char}")),
            }
        }
        self.literal("\"");
    }

    #[inline(never)]
    pub fn name(&mut self, name: &str) {
        self.string(name);
        self.literal(":");
        self.begins = true;
    }

    /// Begins an object or array with a name.
    #[inline(never)]
    pub fn open_field(&mut self, name: &str, bracket: &str) {
        self.name(name);
        self.open(bracket);
    }

    #[inline(never)]
    pub fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.string(text);
    }

    #[inline(never)]
    pub fn field(&mut self, name: &str, value: &dyn Display) {
        self.name(name);
        self.value(value);
    }
}

/// What only launches write.
impl Json<'_> {
    pub fn counts(&mut self, counts: &[u64]) {
        self.open("[");
        for count in counts {
            self.value(count);
        }
        self.close("]");
    }

    pub fn strings(&mut self, strings: &[String]) {
        self.open("[");
        for string in strings {
            self.string(string);
        }
        self.close("]");
    }
}
