/** What is joined by itself, and what the views make of it. */
import { expect, test } from "bun:test"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  changeJoined,
  endOfJoins,
  isGone,
  type Join,
  type JoinedProjects,
  mountOf,
  movesAmong,
  type Repository,
  readJoined,
  withJoin,
  withoutJoin,
} from "../../../src/views/joined-projects.ts"
import { knownAs, ownProjects, projectPaths } from "../../../src/views/queries/projects.ts"
import { Archive } from "../../support/archive.ts"
import { tempFolder } from "../../support/temp.ts"

const EMPTY: JoinedProjects = { known: {}, joins: [], apart: [] }

/** `A!` is gone, `A?` is away, `A>B` is a link to B; `:x` is its root commit, `r` otherwise, and `:` none. */
function repositories(text: string): Repository[] {
  return text.split(" ").map((word) => {
    const [, path, sign, at, root = "r"] = /^(\w)([!?>]?)(\w?)(?::(\w*))?$/.exec(word)!
    const state = sign === "" ? "there" : sign === "?" ? "away" : "gone"
    return { path: path!, root: root || undefined, mount: "/", asked: 0, state, ...(at && { at }) }
  })
}

const joins = (text: string, by: Join["by"] = "commit"): Join[] =>
  text === "" ? [] : text.split(" ").map((pair) => ({ from: pair[0]!, to: pair[1]!, by }))

test.each<[what: string, before: string, there: string, joined: string, after: string]>([
  ["renamed", "", "A! B", "AB", "AB"],
  ["both are there", "", "A B", "", ""],
  ["both are gone", "", "A! B!", "", ""],
  ["on a drive that is not mounted", "", "A? B", "", ""],
  ["another root", "", "A!:x B", "", ""],
  ["no root is known", "", "A!: B:", "", ""],
  ["a third is there", "", "A! B C", "", ""],
  ["a third is gone as well", "", "A! B C!", "", ""],
  ["a third is out of reach", "", "A! B C?", "", ""],
  ["others have another root", "", "A! B C:x D!:y", "AB", "AB"],
  ["two of different roots", "", "A! B C!:x D:x", "AB CD", "AB CD"],
  ["a link was left", "", "A>B B", "AB", "AB"],
  ["a link to somewhere else", "", "A>C B", "", ""],
  ["moved again", "AB", "A! B! C", "BC", "AB BC"],
  ["nothing new", "AB", "A! B", "", "AB"],
  ["moved back", "AB", "A B!", "BA", "BA"],
  ["moved twice and back to the first", "AB BC", "A B! C!", "CA", "BC CA"],
  ["the old folder is there again", "AB", "A B", "", ""],
  ["of three, one is there again", "AC BC", "A B! C", "", "BC"],
])("%s", (_what, before, there, joined, after) => {
  const moves = movesAmong({ ...EMPTY, joins: joins(before) }, repositories(there))
  expect(moves.joined).toEqual(joins(joined))
  expect(moves.file.joins).toEqual(joins(after))
})

test("what was joined by hand stays until the new folder is gone and the old one is there", () => {
  const file = { ...EMPTY, joins: joins("AB", "hand") }
  expect(movesAmong(file, repositories("A B"))).toMatchObject({ file, joined: [], parted: [] })
  expect(movesAmong(file, repositories("A B!"))).toMatchObject({ joined: joins("BA") })
})

test("what the user has taken apart is not joined by itself, and may be joined by hand", () => {
  const [ab] = joins("AB")
  const apart = withoutJoin(withJoin(EMPTY, ab!), ab!, true)
  expect(apart).toEqual({ ...EMPTY, apart: [{ from: "A", to: "B" }] })
  expect(movesAmong(apart, repositories("A! B")).joined).toEqual([])
  expect(withJoin(apart, joins("AB", "hand")[0]!)).toEqual({ ...EMPTY, joins: joins("AB", "hand") })
})

test("no chain of joins is endless, whatever the file says", () => {
  expect(endOfJoins(joins("AB BC"), "A")).toBe("C")
  expect(["A", "B"]).toContain(endOfJoins(joins("AB BA"), "A"))
})

test.each([
  ["no JSON", "{"],
  ["a list", "[]"],
  ["wrong types", '{"known":[1],"joins":{"a":1},"apart":"x"}'],
  [
    "wrong entries",
    '{"known":{"/a":3},"joins":[1,{"from":1,"to":"/b"},{"from":"/a","to":"/a"}],"apart":[null]}',
  ],
])("a file with %s counts as none", (_what, text) => {
  using folder = tempFolder()
  writeFileSync(join(folder.path, "projects.json"), text)
  expect(readJoined(folder.path)).toEqual(EMPTY)
})

test("a folder is gone only where its file system still is", () => {
  using folder = tempFolder()
  const [old, mount] = [join(folder.path, "old"), join(folder.path, "drive")]
  mkdirSync(old)
  expect(mountOf(old)).toBe(mountOf(folder.path))
  expect(isGone(join(old, ".git"), mountOf(old))).toBe(false)
  renameSync(old, join(folder.path, "new"))
  expect(isGone(join(old, ".git"), "/")).toBe(true)
  // Where the drive was: nothing, or the empty folder on which it is mounted.
  expect(isGone(join(mount, "old", ".git"), mount)).toBe(false)
  mkdirSync(mount)
  expect(isGone(join(mount, "old", ".git"), mount)).toBe(false)
})

test("the views follow the file, to and fro, and new sessions come into the joined project", () => {
  using archive = new Archive()
  const { db, root } = archive
  const said = (id: string, cwd: string): void => {
    const session = archive.session(`${id}0000000-0000-4000-8000-000000000000`, { cwd })
    archive.follow(session.turn("Look", [], "Done.").flush())
  }
  const projects = (): unknown =>
    db.query("SELECT s.id, p.path FROM sessions s JOIN projects p ON p.id = s.project ORDER BY s.id").values()
  const ids = (path: string, ...names: string[]) =>
    names.map((id) => [`${id}0000000-0000-4000-8000-000000000000`, path])
  said("1", "/old")
  const [join] = joins("AB").map((one): Join => ({ ...one, from: "/old", to: "/new" }))
  changeJoined(db, root, (file) => withJoin(file, join!))
  said("2", "/old/packages")
  said("3", "/new")
  expect(projects()).toEqual(ids("/new", "1", "2", "3"))
  expect(projectPaths(db)).toEqual(["/new"])
  expect(knownAs(db, "/old")).toBe("/new")
  expect(
    ownProjects(db)
      .map(({ path, sessions }) => [path, sessions])
      .sort(),
  ).toEqual([
    ["/new", 1],
    ["/old", 2],
  ])
  changeJoined(db, root, (file) => withJoin(file, { from: "/new", to: "/third", by: "hand" }))
  expect(projects()).toEqual(ids("/third", "1", "2", "3"))
  changeJoined(db, root, (file) => withoutJoin(file, join!, false))
  expect(projects()).toEqual([...ids("/old", "1", "2"), ...ids("/third", "3")])
})
