//! Random programs that change their code while they execute it.

use std::arch::global_asm;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::page::{PAGE, Page, READ_EXECUTE, READ_WRITE, memory_file, own_memory};

global_asm!(
    ".pushsection .text.changing_page, \"ax\", @progbits",
    ".balign 4096",
    ".hidden page_of_the_program",
    ".globl page_of_the_program",
    "page_of_the_program:",
    "lea rax, [rdi + 1]",
    "ret",
    ".balign 4096, 0xcc",
    ".popsection",
);

unsafe extern "C" {
    safe fn page_of_the_program(argument: u64) -> u64;
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 32) as usize % limit
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// What a page's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Anonymous,
    /// A private mapping of a file in memory, which is also mapped to be written.
    Aliased,
    /// A page of the program itself.
    Program,
}

/// How a page's code is changed.
#[derive(Clone, Copy, Debug)]
enum Way {
    Protect,
    OwnMemory,
    Replace,
    WriteFile,
    Alias,
    DropContent,
}

/// Who changes it.
#[derive(Clone, Copy, Debug)]
enum Who {
    Itself,
    Handler,
    /// The handler of a timer, for which it waits by looking at memory.
    HandlerOfTimer,
    /// A thread that is started for it and joined.
    NewThread,
    /// A thread that was there before, for which the traced one waits in a system call.
    Helper,
    /// The same, for which it waits by looking at memory.
    HelperOfSpinning,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    page: usize,
    /// `None`: the page is called.
    change: Option<(Way, Who)>,
    seed: u64,
}

/// Who there is besides the traced thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Nobody,
    /// Handlers of signals.
    Handlers,
    /// Threads that wait until the traced one wakes them.
    WaitingThreads,
    /// Threads that run, and the handler of a signal.
    RunningThreads,
}

impl Others {
    fn who_changes(self) -> &'static [Who] {
        match self {
            Others::Nobody => &[Who::Itself],
            Others::Handlers => &[Who::Itself, Who::Handler, Who::HandlerOfTimer],
            Others::WaitingThreads => &[Who::Itself, Who::Itself, Who::Helper, Who::NewThread],
            Others::RunningThreads => &[
                Who::Itself,
                Who::Handler,
                Who::NewThread,
                Who::Helper,
                Who::HelperOfSpinning,
            ],
        }
    }
}

/// A program: its pages and what it does with them.
pub struct Program {
    kinds: Vec<Kind>,
    steps: Vec<Step>,
    others: Others,
    seed: u64,
}

impl Program {
    pub fn random(seed: u64, others: Others) -> Program {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut kinds: Vec<Kind> = (0..2 + random.below(4))
            .map(|_| random.one_of(&[Kind::Anonymous, Kind::Aliased]))
            .collect();
        kinds.push(Kind::Program);
        let mut now = kinds.clone();
        let step = |_| {
            let page = random.below(now.len());
            let ways: &[Way] = match now[page] {
                Kind::Anonymous => &[Way::Protect, Way::OwnMemory, Way::Replace],
                Kind::Aliased => &[
                    Way::Protect,
                    Way::OwnMemory,
                    Way::Replace,
                    Way::WriteFile,
                    Way::Alias,
                    Way::DropContent,
                ],
                Kind::Program => &[Way::Protect, Way::OwnMemory, Way::DropContent],
            };
            let who = random.one_of(others.who_changes());
            let change = (random.below(2) == 0).then(|| (random.one_of(ways), who));
            if let Some((Way::Replace, _)) = change {
                now[page] = Kind::Anonymous;
            }
            Step {
                page,
                change,
                seed: random.next(),
            }
        };
        let steps = (0..40).map(step).collect();
        Program {
            kinds,
            steps,
            others,
            seed,
        }
    }

    /// Runs `work` with the program's pages as they are at first.
    pub fn prepared<T>(&self, work: impl FnOnce(&dyn Fn() -> Vec<u64>) -> T) -> T {
        let pages = Pages::new(&self.kinds, self.seed);
        let mailbox = AtomicU32::new(NOTHING);
        let (to_helper, from_program) = channel();
        let (to_program, from_helper) = channel();
        let program = Running {
            pages: &pages,
            steps: &self.steps,
            mailbox: &mailbox,
            to_helper,
            from_helper,
        };
        thread::scope(|scope| {
            let (pages, mailbox) = (&pages, &mailbox);
            match self.others {
                Others::Nobody | Others::Handlers => {}
                Others::WaitingThreads => {
                    scope.spawn(move || wait(pages, &self.steps, &from_program, &to_program));
                    // Until it does.
                    thread::sleep(Duration::from_millis(2));
                }
                Others::RunningThreads => {
                    scope.spawn(move || {
                        help(pages, &self.steps, mailbox, &from_program, &to_program);
                    });
                }
            }
            let result = work(&|| program.run());
            mailbox.store(END, Ordering::Release);
            // With its end of the channel, for which the helper may wait.
            drop(program);
            result
        })
    }
}

const NOTHING: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;
const END: u32 = u32::MAX - 2;

/// The helper that waits for the numbers of steps.
fn wait(pages: &Pages, steps: &[Step], from_program: &Receiver<usize>, to_program: &Sender<()>) {
    for number in from_program {
        pages.change(&steps[number]);
        to_program.send(()).unwrap();
    }
}

/// The helper that runs: takes the numbers of steps from its mailbox or its channel.
fn help(
    pages: &Pages,
    steps: &[Step],
    mailbox: &AtomicU32,
    from_program: &Receiver<usize>,
    to_program: &Sender<()>,
) {
    loop {
        match mailbox.load(Ordering::Acquire) {
            END => return,
            NOTHING | DONE => {}
            number => {
                pages.change(&steps[number as usize]);
                mailbox.store(DONE, Ordering::Release);
            }
        }
        if let Ok(number) = from_program.try_recv() {
            pages.change(&steps[number]);
            to_program.send(()).unwrap();
        }
        thread::yield_now();
    }
}

/// The pages of a program.
struct Pages {
    pages: Vec<Page>,
    /// The files of those that have one, and what writes to them.
    files: Vec<Option<(File, Page)>>,
    memory: File,
}

impl Pages {
    fn new(kinds: &[Kind], seed: u64) -> Pages {
        let mut pages = Pages {
            pages: Vec::new(),
            files: Vec::new(),
            memory: own_memory(),
        };
        for kind in kinds {
            let file = (*kind == Kind::Aliased).then(|| {
                let file = memory_file(0);
                let alias = Page::map(None, READ_WRITE, libc::MAP_SHARED, Some(&file));
                (file, alias)
            });
            pages.pages.push(match (kind, &file) {
                (Kind::Program, _) => Page(page_of_the_program as *const () as usize),
                (_, Some((file, _))) => {
                    Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, Some(file))
                }
                _ => Page::map(None, READ_EXECUTE, libc::MAP_PRIVATE, None),
            });
            pages.files.push(file);
        }
        for number in 0..kinds.len() {
            let code = pages.code(number, seed + number as u64);
            match &pages.files[number] {
                Some((file, _)) => file.write_all_at(&code, 0).unwrap(),
                None => pages.write_to_memory(number, &code),
            }
        }
        pages
    }

    fn write_to_memory(&self, number: usize, code: &[u8]) {
        let address = self.pages[number].0 as u64;
        self.memory.write_all_at(code, address).unwrap();
    }

    /// A function of one argument: some arithmetic, and a return or a jump to a later page.
    fn code(&self, number: usize, seed: u64) -> Vec<u8> {
        let random = &mut Random(seed | 1);
        let mut code = vec![0x48, 0x89, 0xf8]; // mov rax, rdi
        for _ in 0..random.below(40) {
            let immediate = (random.next() as u32 >> 1).to_le_bytes();
            match random.below(4) {
                0 => code.extend([0x48, 0x05]),                   // add rax, imm32
                1 => code.extend([0x48, 0x69, 0xc0]),             // imul rax, rax, imm32
                2 => code.extend([0x48, 0x35]),                   // xor rax, imm32
                _ => code.extend([0xa8, 1, 0x74, 6, 0x48, 0x2d]), // if al is odd: sub rax, imm32
            }
            code.extend(immediate);
        }
        let later = self.pages.len() - number - 1;
        if later == 0 || random.below(2) == 0 {
            code.push(0xc3); // ret
            return code;
        }
        let target = self.pages[number + 1 + random.below(later)].0;
        code.extend([0x48, 0x89, 0xc7]); // mov rdi, rax
        let end = self.pages[number].0 + code.len() + 5;
        match i32::try_from(target as i64 - end as i64) {
            Ok(distance) if random.below(4) > 0 => {
                code.push(0xe9); // jmp
                code.extend(distance.to_le_bytes());
            }
            _ => {
                code.extend([0x48, 0xb8]); // mov rax, imm64; jmp rax
                code.extend((target as u64).to_le_bytes());
                code.extend([0xff, 0xe0]);
            }
        }
        code
    }

    fn change(&self, step: &Step) {
        let Some((way, _)) = step.change else {
            return;
        };
        let page = self.pages[step.page];
        let code = self.code(step.page, step.seed);
        let file = self.files[step.page].as_ref();
        match way {
            Way::Protect => {
                page.protect(READ_WRITE);
                page.write_code(&code);
                page.protect(READ_EXECUTE);
            }
            Way::OwnMemory => self.write_to_memory(step.page, &code),
            Way::Replace => {
                page.unmap();
                Page::map(Some(page), READ_WRITE, libc::MAP_PRIVATE, None);
                page.write_code(&code);
                page.protect(READ_EXECUTE);
            }
            // Unless the page has got its own copy meanwhile, which then stays.
            Way::WriteFile => file.unwrap().0.write_all_at(&code, 0).unwrap(),
            Way::Alias => file.unwrap().1.write_code(&code),
            Way::DropContent => page.drop_content(),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let program = page_of_the_program as *const () as usize;
        for page in &self.pages {
            if page.0 == program {
                page.drop_content();
            } else {
                page.unmap();
            }
        }
        for (_, alias) in self.files.iter().flatten() {
            alias.unmap();
        }
    }
}

/// A program, once.
struct Running<'a> {
    pages: &'a Pages,
    steps: &'a [Step],
    mailbox: &'a AtomicU32,
    to_helper: Sender<usize>,
    from_helper: Receiver<()>,
}

thread_local! {
    /// What the handler is to do.
    static FOR_HANDLER: RefCell<Option<(*const Pages, Step)>> = const { RefCell::new(None) };
}

static DONE_BY_HANDLER: AtomicBool = AtomicBool::new(false);

extern "C" fn change_in_handler(_signal: i32) {
    if let Some((pages, step)) = FOR_HANDLER.take() {
        // SAFETY: the program that raises the signal has stored its pages.
        unsafe { (*pages).change(&step) };
        DONE_BY_HANDLER.store(true, Ordering::Release);
    }
}

impl Running<'_> {
    /// What the calls have returned.
    fn run(&self) -> Vec<u64> {
        let mut results = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            match step.change {
                None => {
                    let start = self.pages.pages[step.page].0;
                    // SAFETY: a function of this type stands there.
                    let function: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(start) };
                    // Twice: once more by a translation that is there already.
                    results.push(function(step.seed));
                    results.push(function(results.len() as u64));
                }
                Some((_, who)) => self.change(number, step, who),
            }
        }
        results
    }

    fn change(&self, number: usize, step: &Step, who: Who) {
        match who {
            Who::Itself => self.pages.change(step),
            Who::Handler => {
                FOR_HANDLER.set(Some((self.pages, *step)));
                // SAFETY: the handler changes pages, natively, on this thread.
                unsafe {
                    libc::signal(libc::SIGUSR2, change_in_handler as *const () as usize);
                    libc::raise(libc::SIGUSR2);
                }
            }
            Who::HandlerOfTimer => {
                FOR_HANDLER.set(Some((self.pages, *step)));
                DONE_BY_HANDLER.store(false, Ordering::Release);
                // SAFETY: as above; one signal after a moment.
                unsafe {
                    libc::signal(libc::SIGALRM, change_in_handler as *const () as usize);
                    let mut timer: libc::itimerval = std::mem::zeroed();
                    timer.it_value.tv_usec = 1 + (step.seed % 64) as i64;
                    libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut());
                }
                while !DONE_BY_HANDLER.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            }
            Who::NewThread => thread::scope(|scope| {
                scope.spawn(|| self.pages.change(step)).join().unwrap();
            }),
            Who::Helper => {
                self.to_helper.send(number).unwrap();
                self.from_helper.recv().unwrap();
            }
            Who::HelperOfSpinning => {
                self.mailbox.store(number as u32, Ordering::Release);
                while self.mailbox.load(Ordering::Acquire) != DONE {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// The size of a page is part of the assembly above.
const _: () = assert!(PAGE == 4096);
