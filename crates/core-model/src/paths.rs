//! Call paths: through which calls execution reached a block.
//!
//! A shadow stack follows every call and return. Each of its frames knows where on the program's
//! stack its return address lies, so frames that the program leaves without returning (a panic that
//! unwinds, a `longjmp`) are dropped as soon as the stack pointer is seen above them. A tail call
//! takes the place of its caller, as it does on the program's own stack.
//!
//! A function that is called while it is already on the path continues there, so that recursion has
//! no depth and the number of paths stays small.

use topdown_tracer::iced_x86::{FlowControl, Instruction as Decoded, Mnemonic, OpKind, Register};
use topdown_tracer::{AccessKind, Address, Block, Instruction};

use crate::index::Index;

/// The path of code that no traced call has reached.
pub const ROOT: u32 = 0;

/// Room for this many paths; the calls beyond are counted with their callers.
const MAX_PATHS: usize = 32 * 1024;

/// Room for this many open calls; the calls beyond are counted with their callers.
const MAX_FRAMES: usize = 64 * 1024;

/// The last call of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPath {
    /// The number of the path that contains the call. It is smaller than this path's own number,
    /// except for that of [`ROOT`].
    pub caller: u32,
    /// The address to which the call returns: the end of the calling instruction.
    pub return_ip: u64,
    /// The address that was called.
    pub entry_ip: u64,
}

/// An open call.
#[derive(Clone, Copy)]
struct Frame {
    /// Where its return address lies.
    slot: u64,
    /// The path to which it returns.
    path: u32,
}

/// A block whose executions are counted separately for each path.
#[derive(Clone, Copy)]
struct KnownBlock {
    start_ip: u64,
    end_ip: u64,
    end: BlockEnd,
    /// The stack pointer when the block begins, if an access of the block shows it: an address and
    /// what to add to it.
    stack: Option<(Address, i64)>,
    /// The row for [`ROOT`].
    root_row: u32,
    /// The latest path and its row.
    latest: (u32, u32),
}

/// What the last instruction of a block does to the stack of calls. The addresses are those of the
/// return address.
#[derive(Clone, Copy)]
enum BlockEnd {
    Other,
    Call(Address),
    Return(Address),
    /// It may leave several functions at once.
    IndirectJump,
}

/// The counts of one block on one path are a row of the ledger.
#[derive(Clone, Copy)]
struct Row {
    path: u32,
    block: u32,
}

/// The current call path, and the rows in which the blocks of each are counted. Never allocates
/// after its creation.
pub(crate) struct Paths {
    paths: Vec<CallPath>,
    children: Index,
    blocks: Vec<KnownBlock>,
    rows: Vec<Row>,
    row_index: Index,
    calls: CallStack,
}

/// The open calls of a thread.
pub(crate) struct CallStack {
    frames: Vec<Frame>,
    current: u32,
    /// The call that ended the latest block: where its return address lies, and that address.
    call: Option<(u64, u64)>,
    /// Whether frames may have been left by an indirect jump.
    has_jumped: bool,
}

impl CallStack {
    pub(crate) fn new() -> CallStack {
        CallStack {
            frames: Vec::with_capacity(MAX_FRAMES),
            current: ROOT,
            call: None,
            has_jumped: false,
        }
    }

    /// Forgets all calls.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.current = ROOT;
        self.call = None;
        self.has_jumped = false;
    }
}

impl Paths {
    /// Reserves room for this many blocks and rows.
    pub(crate) fn new(blocks: usize, rows: usize) -> Paths {
        let mut paths = Paths {
            paths: Vec::with_capacity(MAX_PATHS),
            children: Index::new(MAX_PATHS),
            blocks: Vec::with_capacity(blocks),
            rows: Vec::with_capacity(rows.max(blocks)),
            row_index: Index::new(rows.max(blocks)),
            calls: CallStack::new(),
        };
        paths.forget();
        paths
    }

    pub(crate) fn forget(&mut self) {
        self.begin_window();
        self.children.clear();
        self.row_index.clear();
        self.blocks.clear();
        self.rows.clear();
        self.paths.clear();
        self.paths.push(CallPath {
            caller: ROOT,
            return_ip: 0,
            entry_ip: 0,
        });
    }

    /// Begins a window: no call is open.
    pub(crate) fn begin_window(&mut self) {
        self.calls.clear();
    }

    /// The open calls of the executing thread.
    pub(crate) fn calls(&mut self) -> &mut CallStack {
        &mut self.calls
    }

    pub(crate) fn paths(&self) -> &[CallPath] {
        &self.paths
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn max_rows(&self) -> usize {
        self.rows.capacity()
    }

    /// Returns the path and the block number of a row.
    pub(crate) fn row(&self, row: u32) -> (u32, u32) {
        let row = self.rows[row as usize];
        (row.path, row.block)
    }

    pub(crate) fn is_half_full(&self) -> bool {
        self.rows.len() > self.rows.capacity() / 2 || self.paths.len() > self.paths.capacity() / 2
    }

    /// Adds a block, in the order of their numbers. Returns whether there was room.
    pub(crate) fn translated(&mut self, block: &Block<'_>) -> bool {
        let number = self.blocks.len() as u32;
        let root_row = self.rows.len() as u32;
        let is_full =
            self.blocks.len() == self.blocks.capacity() || self.rows.len() == self.rows.capacity();
        if is_full {
            return false;
        }
        self.rows.push(Row {
            path: ROOT,
            block: number,
        });
        self.blocks.push(KnownBlock {
            start_ip: block.start_ip(),
            end_ip: block.end_ip(),
            end: end_of(block),
            stack: stack_at_start(block),
            root_row,
            latest: (ROOT, root_row),
        });
        true
    }

    /// Executes a block and returns the row in which to count it.
    #[inline]
    pub(crate) fn execute(&mut self, number: u32, recorded: &[u64]) -> u32 {
        let block = &self.blocks[number as usize];
        let (entry_ip, end_ip, end) = (block.start_ip, block.end_ip, block.end);
        if let Some((slot, return_ip)) = self.calls.call.take() {
            self.enter(slot, return_ip, entry_ip);
        } else if self.calls.has_jumped {
            if let Some((address, offset)) = block.stack {
                let stack = address.first(recorded).unwrap_or(0);
                self.drop_below(stack.wrapping_add_signed(offset));
                self.calls.has_jumped = false;
            }
        }
        let (path, row) = self.blocks[number as usize].latest;
        let row = if path == self.calls.current {
            row
        } else {
            self.row_of(number)
        };
        match end {
            BlockEnd::Other => {}
            BlockEnd::Call(address) => {
                self.calls.call = address.first(recorded).map(|slot| (slot, end_ip));
            }
            BlockEnd::Return(address) => {
                if let Some(slot) = address.first(recorded) {
                    self.drop_below(slot.wrapping_add(1));
                }
                self.calls.has_jumped = false;
            }
            BlockEnd::IndirectJump => self.calls.has_jumped = true,
        }
        row
    }

    /// Drops the frames whose return address lies below `stack`.
    #[inline]
    fn drop_below(&mut self, stack: u64) {
        while let Some(frame) = self.calls.frames.last() {
            if frame.slot >= stack {
                break;
            }
            self.calls.current = frame.path;
            self.calls.frames.pop();
        }
    }

    /// Enters a function.
    fn enter(&mut self, slot: u64, return_ip: u64, entry_ip: u64) {
        self.calls.has_jumped = false;
        // The call has overwritten what was there.
        self.drop_below(slot.wrapping_add(1));
        if self.calls.frames.len() == self.calls.frames.capacity() {
            return;
        }
        self.calls.frames.push(Frame {
            slot,
            path: self.calls.current,
        });
        self.calls.current = self.called(CallPath {
            caller: self.calls.current,
            return_ip,
            entry_ip,
        });
    }

    /// Returns the path to which a call leads.
    fn called(&mut self, call: CallPath) -> u32 {
        let key = [u64::from(call.caller), call.return_ip, call.entry_ip];
        let paths = &self.paths;
        let found = self.children.find(&key, |n| paths[n as usize] == call);
        let vacant = match found {
            Ok(path) => return path,
            Err(vacant) => vacant,
        };
        let mut path = call.caller;
        while path != ROOT {
            let known = &self.paths[path as usize];
            if known.entry_ip == call.entry_ip {
                return path;
            }
            path = known.caller;
        }
        if self.paths.len() == self.paths.capacity() {
            return call.caller;
        }
        let path = self.paths.len() as u32;
        self.paths.push(call);
        self.children.insert(vacant, path);
        path
    }

    /// Returns the row of a block on the current path.
    fn row_of(&mut self, block: u32) -> u32 {
        let path = self.calls.current;
        let known = &mut self.blocks[block as usize];
        if path == ROOT {
            known.latest = (ROOT, known.root_row);
            return known.root_row;
        }
        let rows = &self.rows;
        let is_it = |n: u32| {
            let row = rows[n as usize];
            row.path == path && row.block == block
        };
        let key = [u64::from(path), u64::from(block)];
        let row = match self.row_index.find(&key, is_it) {
            Ok(row) => row,
            // The other half is for the roots of further blocks.
            Err(_) if self.rows.len() >= self.rows.capacity() / 2 => known.root_row,
            Err(vacant) => {
                let row = self.rows.len() as u32;
                self.rows.push(Row { path, block });
                self.row_index.insert(vacant, row);
                row
            }
        };
        known.latest = (path, row);
        row
    }
}

fn end_of(block: &Block<'_>) -> BlockEnd {
    let last = block.last();
    let access = |kind| {
        let mut accesses = block.accesses_of(last).iter();
        accesses.find(|access| access.kind == kind)
    };
    match (last.decoded.mnemonic(), last.decoded.flow_control()) {
        (Mnemonic::Call, _) => access(AccessKind::Write)
            .map_or(BlockEnd::Other, |access| BlockEnd::Call(access.address)),
        (Mnemonic::Ret, _) => access(AccessKind::Read)
            .map_or(BlockEnd::Other, |access| BlockEnd::Return(access.address)),
        (_, FlowControl::IndirectBranch) => BlockEnd::IndirectJump,
        _ => BlockEnd::Other,
    }
}

/// Finds an access that shows the stack pointer at the start of a block.
fn stack_at_start(block: &Block<'_>) -> Option<(Address, i64)> {
    for instruction in block.instructions {
        if let [access] = block.accesses_of(instruction) {
            if let Some(offset) = stack_offset(&instruction.decoded) {
                return Some((access.address, offset));
            }
        }
        if changes_stack(instruction) {
            return None;
        }
    }
    None
}

/// Returns what to add to the address of an instruction's only access to get the stack pointer.
fn stack_offset(decoded: &Decoded) -> Option<i64> {
    match decoded.mnemonic() {
        Mnemonic::Push => Some(8),
        Mnemonic::Pop => Some(0),
        Mnemonic::Call | Mnemonic::Ret => None,
        _ => {
            let is_relative = decoded.memory_base() == Register::RSP
                && decoded.memory_index() == Register::None
                && decoded.segment_prefix() == Register::None;
            let displacement = decoded.memory_displacement64() as i64;
            is_relative.then_some(displacement.wrapping_neg())
        }
    }
}

fn changes_stack(instruction: &Instruction) -> bool {
    let decoded = &instruction.decoded;
    let writes = decoded.op_count() > 0
        && decoded.op0_kind() == OpKind::Register
        && decoded.op0_register().full_register() == Register::RSP;
    writes || decoded.is_stack_instruction() || decoded.mnemonic() == Mnemonic::Xchg
}
