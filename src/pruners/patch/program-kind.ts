/** What kind of program a file is, by how it begins. Pure. */

export type ProgramKind =
  | { readonly kind: "bundle"; readonly runner: "node" | "bun" }
  | { readonly kind: "native"; readonly format: "ELF" | "Mach-O" | "PE" }
  | { readonly kind: "script" | "unknown" }

const MACH_O = new Set([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe, 0xbebafeca])

/** @param bytes how the file begins */
export function programKind(file: string, bytes: Uint8Array): ProgramKind {
  const begin = new TextDecoder("latin1").decode(bytes)
  if (begin.startsWith("\x7fELF")) return { kind: "native", format: "ELF" }
  if (begin.startsWith("MZ")) return { kind: "native", format: "PE" }
  if (bytes.length >= 4 && MACH_O.has(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)))
    return { kind: "native", format: "Mach-O" }
  if (begin.includes("\0")) return { kind: "unknown" }
  if (!begin.startsWith("#!"))
    return /\.[cm]?js$/.test(file) ? { kind: "bundle", runner: "node" } : { kind: "unknown" }
  const [, runner] = /^#![^\n]*\b(node|bun)\b/.exec(begin) ?? []
  return runner === "node" || runner === "bun" ? { kind: "bundle", runner } : { kind: "script" }
}
