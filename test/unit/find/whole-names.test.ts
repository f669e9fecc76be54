/** Ids, versions, codes and paths: what has a part of one is found, and never said to have it all. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { search } from "../../../src/find/search-turns.ts"
import { wholeNamesIn } from "../../../src/find/whole-matches.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { open } from "../../../src/views/open.ts"
import { Inside, Peer, run } from "../../support/inside.ts"

/** A name as it is typed; texts that have it, and texts that only have its parts. */
const NAMES: readonly (readonly [typed: string, whole: readonly string[], parts: readonly string[]])[] = [
  [
    "CVE-2024-1234",
    ["fixes CVE-2024-1234.", "cve-2024-1234-poc", "CVE_2024_1234", "(CVE-2024-1234)"],
    ["port 1234 is open", "CVE-2024-12345", "CVE-2023-1234 of 2024", "XCVE-2024-1234"],
  ],
  [
    "2.1.332",
    ["Claude Code 2.1.332", "v2.1.332?", "2.1.332-beta"],
    ["2.1.33", "2.1.3321", "21332", "2.1.332.4", "12.1.332"],
  ],
  ["utf-8", ["utf8", "UTF-8 text", "utf_8"], ["utf-16 in 8 bytes", "utf-80"]],
  ["ERR_KILN_404", ["throws ERR_KILN_404", "err-kiln-404"], ["404 from the kiln: err", "ERR_KILN_4040"]],
  ["getUserName", ["get_user_name()", "getUserName(1)", "get-user-name"], ["the user gets a name"]],
  [
    "src/kiln/door.ts",
    ["edited src/kiln/door.ts:12", "/app/src/kiln/door.ts", "src\\kiln\\door.ts"],
    ["src/oven/door.ts", "door.ts in src", "src/kiln/door.tsx"],
  ],
  [
    "5e551011-0000-4000-8000-00000000000a",
    ["session 5e551011-0000-4000-8000-00000000000a"],
    ["5e551011", "5e551011-0000-4000-8000-00000000000b"],
  ],
  ["kiln@3.2.1", ["npm i kiln@3.2.1"], ["kiln 3.2.1", "kiln@3.2.10"]],
]

test.each(NAMES)("%s is told from its parts", (typed, whole, parts) => {
  const [name, ...others] = wholeNamesIn(`where was "quoted-1" ${typed}, please?`)
  expect(others).toEqual([])
  expect(name!.typed).toBe(typed)
  for (const text of whole) expect([text, name!.isIn(text)]).toEqual([text, true])
  for (const text of parts) expect([text, name!.isIn(text)]).toEqual([text, false])
})

test("words with hyphens or slashes, filters, single words and abbreviations are no such names", () => {
  for (const query of [
    "re-run the and/or tests",
    "role:human tool:mcp__x__y",
    "kiln TS2345",
    "e.g. U.S",
    "src/kil*",
    "größe-1",
    "…",
  ])
    expect(wholeNamesIn(query).map(({ typed }) => typed)).toEqual([])
})

let machine: Inside
beforeAll(async () => {
  machine = new Inside()
  const session = machine.session()
  const texts = [
    ["Which port is it?", "It listens on port 1234, in 2024, as the CVE page says."],
    ["Which version?", "2.1.331 is installed."],
    ["Where is the door?", "In src/kiln/door.ts, see ERR_KILN_404."],
    ["Is utf8 read?", "Yes, getUserName is."],
  ] as const
  for (const [prompt, answer] of texts) session.turn(prompt, [], answer)
  await machine.hook("stop", session.flush())
})
afterAll(() => machine[Symbol.dispose]())

const NOTES: readonly (readonly [query: string, note: string | undefined, why: readonly string[]])[] = [
  [
    "CVE-2024-1234",
    "No message has “CVE-2024-1234” as a whole; these have parts of it.",
    ["cve", "1234", "2024"],
  ],
  ["version 2.1.332", "No message has “2.1.332” as a whole; these have parts of it.", []],
  ["2.1.331", undefined, ["2.1.331"]],
  ["src/oven/door.ts", "No message has “src/oven/door.ts” as a whole; these have parts of it.", []],
  ["src/kiln/door.ts", undefined, []],
  ["ERR_KILN_404", undefined, ["err_kiln_404"]],
  ["ERR_KILN_500", "No message has “ERR_KILN_500” as a whole; these have parts of it.", ["err", "kiln"]],
  ["utf-8 get_user_name", undefined, ["get_user_name"]],
  [
    "CVE-2024-1234 and ERR_OVEN_1",
    "No message has “CVE-2024-1234” or “ERR_OVEN_1” as a whole; these have parts of it.",
    [],
  ],
]

test.each(NOTES)(
  "%s: the search says what its hits lack, and so does the server",
  async (query, note, why) => {
    const { code, stdout, stderr } = await run(["search", query, "-a", "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const found = JSON.parse(stdout)
    expect(found.note).toBe(note)
    expect(found.partial).toEqual(note === undefined ? undefined : note.match(/(?<=“)[^”]+/g))
    if (why.length > 0) expect([...found.hits[0].why].sort()).toEqual([...why].sort())
    for (const hit of found.hits)
      for (const name of found.partial ?? []) expect(hit.why).not.toContain(name.toLowerCase())
    const plain = await run(["search", query, "-a"], machine)
    if (note === undefined) expect(plain.stdout).not.toContain("as a whole")
    else expect(plain.stdout).toContain(note)
    const server = await Peer.connect(machine.cwd, machine.env)
    const { text, isError } = await server.call("search", { query })
    expect(isError).toBe(false)
    if (note === undefined) expect(text).not.toContain("as a whole")
    else expect(text).toContain(note)
  },
)

test("nothing of it is told to whoever does not want to know", () => {
  const db = open(machine.dataHome, "write", 0)
  using readers = new CopyReaders()
  const request = { query: "ERR_KILN_500", limit: 1, isBrief: true }
  const [told, untold] = [true, false].map((tellsPartial) =>
    search(db, machine.dataHome, { ...request, tellsPartial }, readers),
  )
  db.close()
  expect(told).toMatchObject({ partial: ["ERR_KILN_500"] })
  expect(untold!.partial).toBeUndefined()
  expect(untold!.hits).toEqual(told!.hits)
  expect(untold!.hits).toHaveLength(1)
})

test("an id of which nothing has any part is not found, and named", async () => {
  const { code, stdout, stderr } = await run(["search", "GHSA-77aa-99zz", "-a"], machine)
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
  expect(stderr).toContain('nothing in the archive matches "GHSA-77aa-99zz"')
})
