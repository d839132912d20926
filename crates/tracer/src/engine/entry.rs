//! Entering and leaving translated code: the only hand-written assembly.
//!
//! Whole functions in `global_asm!`, because naked functions need Rust 1.88, which is above this
//! crate's minimum.

use std::arch::global_asm;
use std::mem::offset_of;

use super::context::Context;

unsafe extern "C" {
    /// Returns to the caller through the engine: code after the call is executed translated.
    ///
    /// # Safety
    /// `context` must be complete and belong to the calling thread, and must not have a trace in
    /// progress.
    #[link_name = "topdown_tracer_attach"]
    pub(crate) fn attach(context: *mut Context);

    /// Does nothing. The translator never translates it: the trace ends when traced code gets here.
    #[link_name = "topdown_tracer_detach"]
    pub(crate) safe fn detach();

    /// Saves the whole state of the thread, calls the engine on its own stack, and resumes the
    /// thread where the engine said.
    ///
    /// Reached by a jump, with the context in rax and the thread's rax in its slot in the context.
    ///
    /// # Safety
    /// Only generated code and [`attach`] may jump here.
    /// Only generated code and [`attach`] may jump here.
    #[link_name = "topdown_tracer_serve"]
    pub(crate) fn serve();
}

/// Defines a function private to the library, with the given lines as its body.
macro_rules! function {
    ($name:literal, $($line:literal,)* $(; $($operands:tt)*)?) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", @progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            $($line,)*
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            $($($operands)*)?
        );
    };
}

function!(
    "topdown_tracer_attach",
    "mov [rdi + {rax}], rax",
    "mov rax, rdi",
    "pop qword ptr [rax + {target}]",
    "mov dword ptr [rax + {request}], 0",
    "jmp [rax + {save}]",
    ;
    rax = const offset_of!(Context, registers),
    target = const offset_of!(Context, target),
    request = const offset_of!(Context, request),
    save = const offset_of!(Context, save),
);

function!("topdown_tracer_detach", "ret",);

function!(
    "topdown_tracer_serve",
    "mov [rax + {registers} + 8], rcx",
    "mov [rax + {registers} + 16], rdx",
    "mov [rax + {registers} + 24], rbx",
    "mov [rax + {registers} + 32], rsp",
    "mov [rax + {registers} + 40], rbp",
    "mov [rax + {registers} + 48], rsi",
    "mov [rax + {registers} + 56], rdi",
    "mov [rax + {registers} + 64], r8",
    "mov [rax + {registers} + 72], r9",
    "mov [rax + {registers} + 80], r10",
    "mov [rax + {registers} + 88], r11",
    "mov [rax + {registers} + 96], r12",
    "mov [rax + {registers} + 104], r13",
    "mov [rax + {registers} + 112], r14",
    "mov [rax + {registers} + 120], r15",
    "mov rsp, [rax + {stack}]",
    "pushfq",
    "pop qword ptr [rax + {flags}]",
    "cld",
    "mov rbx, rax",
    "mov eax, [rbx + {mask_low}]",
    "mov edx, [rbx + {mask_high}]",
    "mov rcx, [rbx + {vector_state}]",
    "xsave64 [rcx]",
    // Compiled code expects the default modes and an empty x87 stack.
    "fninit",
    "ldmxcsr [rbx + {mxcsr}]",
    "mov rdi, rbx",
    "call [rbx + {dispatch}]",
    "mov eax, [rbx + {mask_low}]",
    "mov edx, [rbx + {mask_high}]",
    "mov rcx, [rbx + {vector_state}]",
    "xrstor64 [rcx]",
    "push qword ptr [rbx + {flags}]",
    "popfq",
    "mov rax, rbx",
    "mov rcx, [rax + {registers} + 8]",
    "mov rdx, [rax + {registers} + 16]",
    "mov rbx, [rax + {registers} + 24]",
    "mov rsp, [rax + {registers} + 32]",
    "mov rbp, [rax + {registers} + 40]",
    "mov rsi, [rax + {registers} + 48]",
    "mov rdi, [rax + {registers} + 56]",
    "mov r8, [rax + {registers} + 64]",
    "mov r9, [rax + {registers} + 72]",
    "mov r10, [rax + {registers} + 80]",
    "mov r11, [rax + {registers} + 88]",
    "mov r12, [rax + {registers} + 96]",
    "mov r13, [rax + {registers} + 104]",
    "mov r14, [rax + {registers} + 112]",
    "mov r15, [rax + {registers} + 120]",
    "jmp [rax + {resume}]",
    ;
    registers = const offset_of!(Context, registers),
    stack = const offset_of!(Context, stack),
    flags = const offset_of!(Context, flags),
    mask_low = const offset_of!(Context, vector_mask_low),
    mask_high = const offset_of!(Context, vector_mask_high),
    vector_state = const offset_of!(Context, vector_state),
    mxcsr = const offset_of!(Context, default_mxcsr),
    dispatch = const offset_of!(Context, dispatch),
    resume = const offset_of!(Context, resume),
);
