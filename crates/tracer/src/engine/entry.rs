//! Entering and leaving translated code: the only hand-written assembly.
//!
//! Whole functions in `global_asm!`, because naked functions need Rust 1.88, which is above this
//! crate's minimum.

use std::arch::global_asm;
use std::ffi::c_void;
use std::mem::offset_of;

use super::context::Context;
use super::team::Stopped;

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
    #[link_name = "topdown_tracer_serve"]
    pub(crate) fn serve();

    /// Begins the turns of a thread that was stopped: saves its vector state in its seat, and asks
    /// the engine for a context in which to continue.
    ///
    /// Reached by the return of a signal handler, with the seat in rbx and its stack in rsp.
    ///
    /// # Safety
    /// Only that handler may lead here.
    #[link_name = "topdown_tracer_join"]
    pub(crate) fn join();

    /// Discards the calling thread's stack, and begins its turns as if it had been stopped again.
    ///
    /// # Safety
    /// The seat must be that of the calling thread, which must be on its stack, and complete.
    #[link_name = "topdown_tracer_restart"]
    pub(crate) fn restart(seat: *mut c_void) -> !;

    /// Loads a seat's vector state and sends the thread the signal that takes threads over, whose
    /// handler does not return here.
    ///
    /// # Safety
    /// The seat must be that of the calling thread and complete, and the signal neither blocked nor
    /// without its handler.
    #[link_name = "topdown_tracer_leave"]
    pub(crate) fn leave(seat: *mut c_void) -> !;

    /// Performs a system call that starts a thread: its number, then its arguments. The new thread
    /// begins its turns in `seat`.
    ///
    /// # Safety
    /// Same as for the system call; the seat must be complete and nobody else's.
    #[link_name = "topdown_tracer_clone"]
    pub(crate) fn clone(arguments: *const [u64; 7], seat: *mut c_void) -> u64;
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
    "jmp topdown_tracer_resume",
    ;
    registers = const offset_of!(Context, registers),
    stack = const offset_of!(Context, stack),
    flags = const offset_of!(Context, flags),
    mask_low = const offset_of!(Context, vector_mask_low),
    mask_high = const offset_of!(Context, vector_mask_high),
    vector_state = const offset_of!(Context, vector_state),
    mxcsr = const offset_of!(Context, default_mxcsr),
    dispatch = const offset_of!(Context, dispatch),
);

// Loads the state in the context in rbx, and continues where it says.
function!(
    "topdown_tracer_resume",
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
    flags = const offset_of!(Context, flags),
    mask_low = const offset_of!(Context, vector_mask_low),
    mask_high = const offset_of!(Context, vector_mask_high),
    vector_state = const offset_of!(Context, vector_state),
    resume = const offset_of!(Context, resume),
);

function!(
    "topdown_tracer_join",
    "mov eax, [rbx + {mask_low}]",
    "mov edx, [rbx + {mask_high}]",
    "mov rcx, [rbx + {vector_state}]",
    "xsave64 [rcx]",
    "fninit",
    "ldmxcsr [rbx + {mxcsr}]",
    "jmp topdown_tracer_start",
    ;
    mask_low = const offset_of!(Stopped, vector_mask_low),
    mask_high = const offset_of!(Stopped, vector_mask_high),
    vector_state = const offset_of!(Stopped, vector_state),
    mxcsr = const offset_of!(Stopped, default_mxcsr),
);

// Begins the turns of a thread whose whole state is in the seat in rbx, on the seat's stack.
function!(
    "topdown_tracer_start",
    "mov rdi, rbx",
    "call [rbx + {admit}]",
    "mov rbx, rax",
    "jmp topdown_tracer_resume",
    ;
    admit = const offset_of!(Stopped, admit),
);

function!(
    "topdown_tracer_restart",
    "mov rbx, rdi",
    "mov rsp, [rbx + {stack}]",
    "jmp topdown_tracer_start",
    ;
    stack = const offset_of!(Stopped, stack),
);

function!(
    "topdown_tracer_leave",
    "mov rbx, rdi",
    "mov eax, [rbx + {mask_low}]",
    "mov edx, [rbx + {mask_high}]",
    "mov rcx, [rbx + {vector_state}]",
    "xrstor64 [rcx]",
    "mov edi, [rbx + {process}]",
    "mov esi, [rbx + {thread}]",
    "mov edx, [rbx + {signal}]",
    "mov eax, {tgkill}",
    "syscall",
    "ud2",
    ;
    mask_low = const offset_of!(Stopped, vector_mask_low),
    mask_high = const offset_of!(Stopped, vector_mask_high),
    vector_state = const offset_of!(Stopped, vector_state),
    process = const offset_of!(Stopped, process),
    thread = const offset_of!(Stopped, thread),
    signal = const offset_of!(Stopped, signal),
    tgkill = const libc::SYS_tgkill,
);

function!(
    "topdown_tracer_clone",
    "push rbx",
    "mov rbx, rsi",
    "mov r11, rdi",
    "mov rax, [r11]",
    "mov rdi, [r11 + 8]",
    "mov rsi, [r11 + 16]",
    "mov rdx, [r11 + 24]",
    "mov r10, [r11 + 32]",
    "mov r8, [r11 + 40]",
    "mov r9, [r11 + 48]",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop rbx",
    "ret",
    "2:",
    "mov rsp, [rbx + {stack}]",
    "jmp topdown_tracer_start",
    ;
    stack = const offset_of!(Stopped, stack),
);
