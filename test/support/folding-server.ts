/**
 * A file system whose names are the same in any letters and however an accent is composed, as on a Mac: what is written
 * there lies in a folder of this machine. It speaks FUSE's protocol (linux/fuse.h, 7.31) over /dev/fuse, so it needs no
 * package; mounting takes root. `bun folding-server.ts FOLDER PLACE` prints a line when it is mounted, and ends when
 * somebody unmounts it.
 */
import { dlopen } from "bun:ffi"
import {
  chmodSync,
  chownSync,
  closeSync,
  type Dirent,
  existsSync,
  fstatSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs"
import { constants } from "node:os"

const { ENOENT, ENOSYS, ENODEV, EEXIST, EIO, EINTR, EAGAIN } = constants.errno
const O_CREAT = 0o100
const O_EXCL = 0o200
const O_NOFOLLOW = 0o400000
const O_PATH = 0o10000000
const RENAME_NOREPLACE = 1
const PR_SET_PDEATHSIG = 1

const BIG_WRITES = 1 << 5
const MOST_WRITTEN = 128 << 10
const ENTRY_SIZE = 128
const ATTR_SIZE = 88

/** Which of an attribute request's fields count (FATTR_…). */
const SETS = { mode: 1, uid: 2, gid: 4, size: 8, atime: 16, mtime: 32, atimeNow: 128, mtimeNow: 256 }

interface Request {
  readonly node: number
  readonly uid: number
  readonly gid: number
  readonly body: Buffer
}

/** A file that the kernel knows: held open, so that renaming it changes nothing here. */
interface Node {
  readonly fd: number
  /** What a symbolic link says; undefined for any other file. */
  readonly link: string | undefined
  lookups: number
}

const nodes = new Map<number, Node>()
const byInode = new Map<bigint, number>()
const listings = new Map<number, readonly Dirent[]>()
let lastId = 1

const folded = (name: string): string => name.normalize("NFD").toLowerCase()
const pathOf = (node: number): string => `/proc/self/fd/${nodes.get(node)!.fd}`

/** The name on disk for one in any letters; the name itself if there is none. */
function named(folder: number, name: string): string {
  if (existsSync(`${pathOf(folder)}/${name}`)) return name
  return readdirSync(pathOf(folder)).find((one) => folded(one) === folded(name)) ?? name
}

const inFolder = (folder: number, name: string): string => `${pathOf(folder)}/${named(folder, name)}`

/** The texts at the end of a request, each with a zero byte after it. */
const texts = (body: Buffer, from = 0): string[] => body.toString("utf8", from).split("\0")

const u64 = (body: Buffer, at: number): number => Number(body.readBigUInt64LE(at))

function attributes(fd: number): Buffer {
  const stats = fstatSync(fd, { bigint: true })
  const out = Buffer.alloc(ATTR_SIZE)
  const times = [stats.atimeNs, stats.mtimeNs, stats.ctimeNs]
  const longs = [stats.ino, stats.size, stats.blocks, ...times.map((ns) => ns / 1_000_000_000n)]
  for (const [n, value] of longs.entries()) out.writeBigUInt64LE(value, 8 * n)
  const { mode, nlink, uid, gid, rdev, blksize } = stats
  const shorts = [...times.map((ns) => ns % 1_000_000_000n), mode, nlink, uid, gid, rdev, blksize]
  for (const [n, value] of shorts.entries()) out.writeUInt32LE(Number(value), 48 + 4 * n)
  return out
}

/** struct fuse_attr_out; nothing is kept in the kernel, since the file may change under another name. */
const attributesReply = (fd: number): Buffer => Buffer.concat([Buffer.alloc(16), attributes(fd)])

/** struct fuse_entry_out. */
function entry(folder: number, name: string): Buffer {
  const path = inFolder(folder, name)
  const stats = lstatSync(path, { bigint: true })
  let id = byInode.get(stats.ino)
  if (id === undefined) {
    id = ++lastId
    const link = stats.isSymbolicLink() ? readlinkSync(path) : undefined
    nodes.set(id, { fd: openSync(path, O_PATH | O_NOFOLLOW), link, lookups: 0 })
    byInode.set(stats.ino, id)
  }
  const node = nodes.get(id)!
  node.lookups++
  const out = Buffer.alloc(ENTRY_SIZE)
  out.writeBigUInt64LE(BigInt(id), 0)
  attributes(node.fd).copy(out, 40)
  return out
}

function forget(id: number, times: number): void {
  const node = nodes.get(id)
  if (node === undefined || id === 1) return
  node.lookups -= times
  if (node.lookups > 0) return
  byInode.delete(fstatSync(node.fd, { bigint: true }).ino)
  closeSync(node.fd)
  nodes.delete(id)
}

/** struct fuse_open_out. */
function opened(fd: number): Buffer {
  const out = Buffer.alloc(16)
  out.writeBigUInt64LE(BigInt(fd))
  return out
}

/** A new file belongs to whoever asked for it. */
function made(request: Request, name: string): Buffer {
  lchownSync(inFolder(request.node, name), request.uid, request.gid)
  return entry(request.node, name)
}

function move(from: string, folder: number, name: string, flags: number): void {
  const there = inFolder(folder, name)
  if (flags === RENAME_NOREPLACE && existsSync(there)) throw Object.assign(new Error(), { errno: -EEXIST })
  const isSame = existsSync(there) && lstatSync(there).ino === lstatSync(from).ino
  // Other letters for the same file are what was asked for.
  renameSync(from, isSame ? `${pathOf(folder)}/${name}` : there)
}

function change({ node, body }: Request): void {
  const path = pathOf(node)
  const valid = body.readUInt32LE(0)
  const has = (bits: number): boolean => (valid & bits) !== 0
  if (has(SETS.mode)) chmodSync(path, body.readUInt32LE(68) & 0o7777)
  if (has(SETS.uid | SETS.gid)) {
    const { uid, gid } = fstatSync(nodes.get(node)!.fd)
    chownSync(path, has(SETS.uid) ? body.readUInt32LE(76) : uid, has(SETS.gid) ? body.readUInt32LE(80) : gid)
  }
  if (has(SETS.size)) truncateSync(path, u64(body, 16))
  if (has(SETS.atime | SETS.mtime)) {
    const { atimeMs, mtimeMs } = fstatSync(nodes.get(node)!.fd)
    const time = (bit: number, now: number, seconds: number, nanoseconds: number, before: number): number => {
      if (has(now)) return Date.now() / 1000
      return has(bit) ? u64(body, seconds) + body.readUInt32LE(nanoseconds) / 1e9 : before / 1000
    }
    utimesSync(
      path,
      time(SETS.atime, SETS.atimeNow, 32, 56, atimeMs),
      time(SETS.mtime, SETS.mtimeNow, 40, 60, mtimeMs),
    )
  }
}

/** Entries of a folder from `offset` on, as struct fuse_dirent, as many as fit into `size` bytes. */
function listed(entries: readonly Dirent[], offset: number, size: number): Buffer {
  const parts: Buffer[] = []
  let room = size
  for (const [n, one] of entries.entries()) {
    if (n < offset) continue
    const name = Buffer.from(one.name)
    const out = Buffer.alloc((24 + name.length + 7) & ~7)
    if (out.length > room) break
    room -= out.length
    // Any number but 0; the kernel asks for the real one.
    out.writeBigUInt64LE(1n, 0)
    out.writeBigUInt64LE(BigInt(n + 1), 8)
    out.writeUInt32LE(name.length, 16)
    out.writeUInt32LE(one.isDirectory() ? 4 : one.isSymbolicLink() ? 10 : 8, 20)
    name.copy(out, 24)
    parts.push(out)
  }
  return Buffer.concat(parts)
}

const NOTHING = Buffer.alloc(0)
const done = (_: unknown): Buffer => NOTHING

/** By number (enum fuse_opcode); undefined: no reply is due. What is missing does not exist here. */
const OPERATIONS: Readonly<Record<number, (request: Request) => Buffer | undefined>> = {
  /* LOOKUP */ 1: ({ node, body }) => entry(node, texts(body)[0]!),
  /* FORGET */ 2: ({ node, body }) => void forget(node, u64(body, 0)),
  /* GETATTR */ 3: ({ node }) => attributesReply(nodes.get(node)!.fd),
  /* SETATTR */ 4: (request) => {
    change(request)
    return attributesReply(nodes.get(request.node)!.fd)
  },
  /* READLINK */ 5: ({ node }) => Buffer.from(nodes.get(node)!.link!),
  /* SYMLINK */ 6: (request) => {
    const [name, target] = texts(request.body)
    symlinkSync(target!, inFolder(request.node, name!))
    return made(request, name!)
  },
  /* MKDIR */ 9: (request) => {
    const [name] = texts(request.body, 8)
    mkdirSync(inFolder(request.node, name!), request.body.readUInt32LE(0))
    return made(request, name!)
  },
  /* UNLINK */ 10: ({ node, body }) => done(unlinkSync(inFolder(node, texts(body)[0]!))),
  /* RMDIR */ 11: ({ node, body }) => done(rmdirSync(inFolder(node, texts(body)[0]!))),
  /* RENAME */ 12: ({ node, body }) => {
    const [from, to] = texts(body, 8)
    return done(move(inFolder(node, from!), u64(body, 0), to!, 0))
  },
  /* LINK */ 13: ({ node, body }) => {
    const [name] = texts(body, 8)
    // link(2) does not follow /proc's links, so it is found by its inode among those of the folder.
    const wanted = fstatSync(nodes.get(u64(body, 0))!.fd).ino
    const there = readdirSync(pathOf(node)).find((one) => lstatSync(`${pathOf(node)}/${one}`).ino === wanted)
    linkSync(`${pathOf(node)}/${there}`, inFolder(node, name!))
    return entry(node, name!)
  },
  /* OPEN */ 14: ({ node, body }) =>
    opened(openSync(pathOf(node), body.readUInt32LE(0) & ~(O_CREAT | O_EXCL | O_NOFOLLOW))),
  /* READ */ 15: ({ body }) => {
    const bytes = Buffer.alloc(body.readUInt32LE(16))
    return bytes.subarray(0, readSync(u64(body, 0), bytes, 0, bytes.length, u64(body, 8)))
  },
  /* WRITE */ 16: ({ body }) => {
    const out = Buffer.alloc(8)
    const bytes = body.subarray(40, 40 + body.readUInt32LE(16))
    out.writeUInt32LE(writeSync(u64(body, 0), bytes, 0, bytes.length, u64(body, 8)))
    return out
  },
  /* STATFS */ 17: ({ node }) => {
    const { blocks, bfree, bavail, files, ffree, bsize } = statfsSync(pathOf(node))
    const out = Buffer.alloc(80)
    for (const [n, value] of [blocks, bfree, bavail, files, ffree].entries())
      out.writeBigUInt64LE(BigInt(value), 8 * n)
    for (const [n, value] of [bsize, 255, bsize].entries()) out.writeUInt32LE(value, 40 + 4 * n)
    return out
  },
  /* RELEASE */ 18: ({ body }) => done(closeSync(u64(body, 0))),
  /* FSYNC, FLUSH, FSYNCDIR */
  20: done,
  25: done,
  30: done,
  /* INIT */ 26: ({ body }) => {
    const out = Buffer.alloc(64)
    for (const [n, value] of [7, 31, body.readUInt32LE(8), BIG_WRITES].entries())
      out.writeUInt32LE(value, 4 * n)
    out.writeUInt32LE(MOST_WRITTEN, 20)
    out.writeUInt32LE(1, 24)
    return out
  },
  /* OPENDIR */ 27: ({ node }) => {
    const fd = openSync(pathOf(node), "r")
    listings.set(fd, readdirSync(pathOf(node), { withFileTypes: true }))
    return opened(fd)
  },
  /* READDIR */ 28: ({ body }) => listed(listings.get(u64(body, 0))!, u64(body, 8), body.readUInt32LE(16)),
  /* RELEASEDIR */ 29: ({ body }) => {
    listings.delete(u64(body, 0))
    return done(closeSync(u64(body, 0)))
  },
  /* CREATE */ 35: (request) => {
    const [name] = texts(request.body, 16)
    const path = inFolder(request.node, name!)
    const fd = openSync(path, request.body.readUInt32LE(0) | O_CREAT, request.body.readUInt32LE(4) & 0o7777)
    return Buffer.concat([made(request, name!), opened(fd)])
  },
  /* INTERRUPT */ 36: () => undefined,
  /* BATCH_FORGET */ 42: ({ body }) => {
    for (let n = 0; n < body.readUInt32LE(0); n++) forget(u64(body, 8 + 16 * n), u64(body, 16 + 16 * n))
    return undefined
  },
  /* RENAME2 */ 45: ({ node, body }) => {
    const [from, to] = texts(body, 16)
    return done(move(inFolder(node, from!), u64(body, 0), to!, body.readUInt32LE(8)))
  },
}

function mounted(place: string): number {
  const device = openSync("/dev/fuse", "r+")
  const { symbols } = dlopen("libc.so.6", {
    mount: { args: ["cstring", "cstring", "cstring", "u64", "cstring"], returns: "i32" },
    prctl: { args: ["i32", "u64"], returns: "i32" },
  })
  // Whoever started this may be killed, and nobody would unmount it.
  symbols.prctl(PR_SET_PDEATHSIG, BigInt(constants.signals.SIGKILL))
  const text = (value: string): Buffer => Buffer.from(`${value}\0`)
  const options = `fd=${device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions`
  if (symbols.mount(text("folding"), text(place), text("fuse"), 0n, text(options)) !== 0)
    throw new Error("mount failed")
  return device
}

function serve(folder: string, place: string): void {
  process.umask(0)
  nodes.set(1, { fd: openSync(folder, O_PATH), link: undefined, lookups: 1 })
  const device = mounted(place)
  writeSync(1, "mounted\n")
  const buffer = Buffer.alloc(MOST_WRITTEN + (64 << 10))
  for (;;) {
    let length: number
    try {
      length = readSync(device, buffer)
    } catch (error) {
      const number = Math.abs((error as { errno?: number }).errno ?? 0)
      if (number === ENODEV) return
      if (number === ENOENT || number === EINTR || number === EAGAIN) continue
      throw error
    }
    answer(device, buffer.subarray(0, length))
  }
}

/** struct fuse_in_header before what was asked, struct fuse_out_header before the answer. */
function answer(device: number, asked: Buffer): void {
  const request = {
    node: u64(asked, 16),
    uid: asked.readUInt32LE(24),
    gid: asked.readUInt32LE(28),
    body: asked.subarray(40),
  }
  let reply: Buffer | undefined = NOTHING
  let failed = 0
  try {
    const operation = OPERATIONS[asked.readUInt32LE(4)]
    if (operation === undefined) failed = ENOSYS
    else reply = operation(request)
  } catch (error) {
    failed = Math.abs((error as { errno?: number }).errno ?? EIO)
  }
  if (reply === undefined) return
  const header = Buffer.alloc(16)
  header.writeUInt32LE(16 + (failed === 0 ? reply.length : 0), 0)
  header.writeInt32LE(-failed, 4)
  asked.copy(header, 8, 8, 16)
  try {
    writeSync(device, failed === 0 ? Buffer.concat([header, reply]) : header)
  } catch {
    // Whoever asked has been interrupted.
  }
}

serve(process.argv[2]!, process.argv[3]!)
