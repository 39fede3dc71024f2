/**
 * Where the meter has to be written into one function body, and how much stack the function needs.
 *
 * **Why fuel bounds execution.** The body is divided into segments. A new segment begins at the entry, after
 * `loop`, `if` and `else`, and after the `end` of a loop, of an `if`, and of a block that a branch leaves. These are
 * all the places that control can come to other than from the instruction before, so a segment is entered
 * at its first instruction only, and its charge, which stands there, is the sum of the prices of all its
 * instructions. Hence, between two charges of a segment, each of its instructions is executed at most once:
 * no instruction is executed that was not paid for before. (`br_if` may leave a segment early: then more was
 * paid than used, at every run alike.) Every way round a loop holds a branch and every recursion a call, both with
 * a price above zero, so there is no endless execution without charges. Operations whose time grows with an
 * operand pay for it by that operand; imported functions have a price of their own.
 *
 * **Why the stack is bounded.** Around every call of a function that is not imported, the caller takes its own
 * `frameBytes` from a budget and gives them back afterwards. `frameBytes` is meant to be above what any tier of the
 * engine uses for the frame, so that the budget ends, always at the same depth, before the thread's stack does.
 */
import { price } from "#runtime/plugin-host/wasm/price.ts"

/** Something to write into the body before the byte `at`, instead of the `skip` bytes that follow. */
export interface Edit {
  readonly at: number
  readonly kind: /** Take `amount` of fuel. */
    | "charge"
    /** Take fuel for the number on the operand stack: bytes, pages of memory, or elements of a table. */
    | "charge-bytes"
    | "charge-pages"
    | "charge-elements"
    /** Take the frame from the stack budget; give it back. */
    | "call"
    | "called"
    /** Note whether the memory could not grow. */
    | "grown"
    /** Refer to the stand-in of the imported function `amount`. */
    | "reference"
  amount: number
  readonly skip: number
}

type BlockKind = "function" | "block" | "loop" | "if" | "else"

interface Block {
  readonly kind: BlockKind
  /** Operands below the block. */
  readonly base: number
  readonly params: number
  readonly results: number
  targeted: boolean
}

/** Return address, saved registers, the instance, and what the meter itself needs. */
const fixedFrameBytes = 128

export class MeteringPlan {
  readonly edits: Array<Edit> = []
  readonly #blocks: Array<Block> = []
  #height = 0
  #highest = 0
  #segment: Edit

  /** `locals` are those declared, which the entry sets to zero. */
  constructor(results: number, locals: number, start: number) {
    this.#blocks.push({ kind: "function", base: 0, params: 0, results, targeted: false })
    this.#segment = this.edit("charge", start)
    this.#segment.amount = 1 + Math.ceil(locals / price.localsPerUnit)
  }

  /** Blocks open, the function itself included. */
  get depth(): number {
    return this.#blocks.length
  }

  edit(kind: Edit["kind"], at: number, amount = 0, skip = 0): Edit {
    const edit = { at, kind, amount, skip }
    this.edits.push(edit)
    return edit
  }

  /** An instruction that takes and leaves operands. Code that cannot be reached may take more than there are. */
  plain(pops: number, pushes: number, cost: number): void {
    this.#segment.amount += cost
    const base = this.#blocks[this.#blocks.length - 1]?.base ?? 0
    this.#height = Math.max(base, this.#height - pops) + pushes
    if (this.#height > this.#highest) this.#highest = this.#height
  }

  /** An instruction after which the next one is not reached. */
  leave(cost: number): void {
    this.#segment.amount += cost
    this.#height = this.#blocks[this.#blocks.length - 1]?.base ?? 0
  }

  /** A branch to the label `depth`; false when there is none. */
  branchTo(depth: number): boolean {
    const block = this.#blocks[this.#blocks.length - 1 - depth]
    if (block === undefined) return false
    block.targeted = true
    return true
  }

  enter(kind: "block" | "loop" | "if", params: number, results: number, at: number): void {
    if (kind === "if") this.plain(1, 0, price.branch)
    this.plain(params, 0, 0)
    this.#blocks.push({ kind, base: this.#height, params, results, targeted: false })
    this.plain(0, params, 0)
    if (kind !== "block") this.#segment = this.edit("charge", at)
  }

  /** `else`; false outside of an `if`. */
  otherwise(at: number): boolean {
    const block = this.#blocks.pop()
    if (block?.kind !== "if") return false
    this.#height = block.base
    this.#blocks.push({ ...block, kind: "else" })
    this.plain(0, block.params, 0)
    this.#segment = this.edit("charge", at)
    return true
  }

  /** `end`. */
  close(at: number): void {
    const block = this.#blocks.pop()
    if (block === undefined || block.kind === "function") return
    this.#height = block.base
    this.plain(0, block.results, 0)
    if (block.kind !== "block" || block.targeted) this.#segment = this.edit("charge", at)
  }

  /** An upper bound of the stack that an activation needs: every local and operand in a slot, and outgoing arguments. */
  frameBytes(locals: number, vectors: boolean): number {
    const slot = vectors ? 16 : 8
    return fixedFrameBytes + slot * locals + 2 * slot * this.#highest
  }
}
