/**
 * Overwrites with zeros whatever a database file has in places that hold nothing: free pages, the room between a page's
 * rows, the end of a long row's last page. SQLite leaves there what rows held before they were deleted, changed or moved
 * to another page; its `secure_delete` only covers what is deleted while it is on, and not what was moved.
 *
 * Writes only bytes that mean nothing, so it may be killed at any moment. What stays are gaps of up to three bytes. The
 * format: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs"
import { CtxError } from "../util/errors.ts"

/** Bytes before the first page's own header. */
const FILE_HEADER = 100
const INTERIOR_INDEX = 2
const INTERIOR_TABLE = 5
const LEAF_INDEX = 10
const LEAF_TABLE = 13
/** The page at this offset is never used. */
const LOCK_BYTE = 1 << 30
const DEEPEST = 40

/**
 * @param path of a database that nobody has open, and that has no log
 * @param roots pages at which its tables and indexes begin (`sqlite_schema.rootpage`)
 * @returns how many bytes were overwritten
 * @throws CtxError `SQLITE_CORRUPT` if a page is in no place or in two
 */
export function wipeUnused(path: string, roots: readonly number[]): number {
  const fd = openSync(path, "r+")
  try {
    const pages = new Pages(fd)
    for (const root of [1, ...roots]) pages.tree(root)
    pages.free()
    pages.checkAll()
    fsyncSync(fd)
    return pages.wiped
  } finally {
    closeSync(fd)
  }
}

class Pages {
  readonly #fd: number
  readonly #size: number
  /** Bytes of a page that SQLite uses. */
  readonly #usable: number
  readonly #seen: Uint8Array
  readonly #zeros: Buffer
  readonly #buffers: Buffer[] = []
  /** Most bytes of a row that are kept in its page, for tables and for indexes; the least, if there are more. */
  readonly #mostInTable: number
  readonly #mostInIndex: number
  readonly #least: number
  wiped = 0

  constructor(fd: number) {
    this.#fd = fd
    const header = Buffer.alloc(FILE_HEADER)
    readSync(fd, header, 0, FILE_HEADER, 0)
    const size = header.readUInt16BE(16)
    this.#size = size === 1 ? 65_536 : size
    this.#usable = this.#size - header[20]!
    const { size: bytes } = fstatSync(fd)
    if (this.#size < 512 || bytes % this.#size !== 0) throw corrupt("its size is not one of whole pages")
    this.#seen = new Uint8Array(bytes / this.#size + 1)
    this.#zeros = Buffer.alloc(this.#size)
    this.#mostInTable = this.#usable - 35
    this.#mostInIndex = Math.floor(((this.#usable - 12) * 64) / 255) - 23
    this.#least = Math.floor(((this.#usable - 12) * 32) / 255) - 23
  }

  /** Goes through the page of a table or index, and all below it. */
  tree(number: number, depth = 0): void {
    const page = this.#read(number, depth)
    const start = number === 1 ? FILE_HEADER : 0
    const type = page[start]!
    const isInterior = type === INTERIOR_INDEX || type === INTERIOR_TABLE
    if (!isInterior && type !== LEAF_INDEX && type !== LEAF_TABLE)
      throw corrupt(`page ${number} has type ${type}`)
    const cells = page.readUInt16BE(start + 3)
    const pointers = start + (isInterior ? 12 : 8)
    this.#wipe(page, number, pointers + 2 * cells, page.readUInt16BE(start + 5) || 65_536)
    let last = 0
    for (let at = page.readUInt16BE(start + 1); at !== 0; at = page.readUInt16BE(at)) {
      if (at <= last || at + 4 > this.#usable) throw corrupt(`page ${number} has a loop of free places`)
      last = at
      this.#wipe(page, number, at + 4, at + page.readUInt16BE(at + 2))
    }
    for (let n = 0; n < cells; n++) {
      const at = page.readUInt16BE(pointers + 2 * n)
      if (isInterior) this.tree(page.readUInt32BE(at), depth + 1)
      if (type !== INTERIOR_TABLE) this.#row(page, isInterior ? at + 4 : at, type === LEAF_TABLE)
    }
    if (isInterior) this.tree(page.readUInt32BE(start + 8), depth + 1)
  }

  /** Follows a row that is too long for its page. */
  #row(page: Buffer, start: number, isTable: boolean): void {
    let at = start
    let size = 0
    let byte: number
    do {
      byte = page[at++]!
      size = size * 128 + (byte & 127)
    } while (byte > 127)
    const most = isTable ? this.#mostInTable : this.#mostInIndex
    if (size <= most) return
    // The row's number.
    if (isTable) while (page[at++]! > 127);
    const wanted = this.#least + ((size - this.#least) % (this.#usable - 4))
    const here = wanted <= most ? wanted : this.#least
    let left = size - here
    for (let next = page.readUInt32BE(at + here); next !== 0; ) {
      const more = this.#read(next, DEEPEST)
      const used = Math.min(left, this.#usable - 4)
      this.#wipe(more, next, 4 + used, this.#size)
      left -= used
      next = more.readUInt32BE(0)
    }
    if (left !== 0) throw corrupt("a long row has no end")
  }

  /** Goes through the list of free pages. Each names others and the next of its kind. */
  free(): void {
    for (let next = this.#header().readUInt32BE(32); next !== 0; ) {
      const page = this.#read(next, 0)
      const named = page.readUInt32BE(4)
      if (8 + 4 * named > this.#size) throw corrupt("the list of free pages is broken")
      this.#wipe(page, next, 8 + 4 * named, this.#size)
      for (let n = 0; n < named; n++) {
        const number = page.readUInt32BE(8 + 4 * n)
        this.#wipe(this.#read(number, 1), number, 0, this.#size)
      }
      next = page.readUInt32BE(0)
    }
  }

  /** What nothing leads to, we have not wiped. */
  checkAll(): void {
    const unused = LOCK_BYTE / this.#size + 1
    for (let n = 1; n < this.#seen.length; n++)
      if (this.#seen[n] === 0 && n !== unused) throw corrupt(`page ${n} is in no place`)
  }

  #header(): Buffer {
    const header = Buffer.alloc(FILE_HEADER)
    readSync(this.#fd, header, 0, FILE_HEADER, 0)
    return header
  }

  /** @param depth of the buffer to use: a page's must not change while its children are visited */
  #read(number: number, depth: number): Buffer {
    if (depth > DEEPEST || this.#seen[number] !== 0)
      throw corrupt(`page ${number} is in two places, or in none`)
    this.#seen[number] = 1
    this.#buffers[depth] ??= Buffer.alloc(this.#size)
    const buffer = this.#buffers[depth]
    readSync(this.#fd, buffer, 0, this.#size, (number - 1) * this.#size)
    return buffer
  }

  #wipe(page: Buffer, number: number, from: number, to: number): void {
    if (to > this.#size) throw corrupt(`page ${number} has more than fits`)
    if (to <= from || page.compare(this.#zeros, 0, to - from, from, to) === 0) return
    writeSync(this.#fd, this.#zeros, 0, to - from, (number - 1) * this.#size + from)
    this.wiped += to - from
  }
}

const corrupt = (what: string): CtxError => new CtxError("SQLITE_CORRUPT", `the database is damaged: ${what}`)
