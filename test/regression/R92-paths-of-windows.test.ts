/** A file on Windows stood in the archive under two names, was not told from the session's folder, and `blame` missed it. */
import { expect, test } from "bun:test"
import { pathsIn } from "../../src/transcript/facts.ts"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

const CWD = "C:\\Users\\dev\\kiln"

test("one file, however it is written", async () => {
  using machine = new Machine()
  const edit = (path: string) => ({
    tool: "Edit",
    input: { file_path: path, old_string: "a", new_string: "b" },
    output: "The file has been updated",
  })
  const session = machine.session({ cwd: CWD })
  session.turn("Close the door", [
    edit(`${CWD}\\src\\Door.cs`),
    edit("c:/Users/dev/kiln/src/Door.cs"),
    { tool: "Bash", input: { command: `cat '${CWD}\\src\\Shelf.cs'` }, output: "oak" },
    ...["a", "b", "c", "d"].map((name) => edit(`D:\\oven\\${name}.cs`)),
  ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("- `C:/Users/dev/kiln/src/Door.cs`: edit, 2 times (ctx:")
  expect(given).toContain("- `D:/oven/d.cs`: edit, 1 time (ctx:")
  const [, paths = ""] = given.split("## Paths\n")
  expect(paths).toStartWith("- `src/Shelf.cs`\n")
  const touched = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(["blame", ...words, "--all-projects", "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found.map(({ path }: { path: string }) => path)
  }
  for (const typed of ["Door.cs", "src\\Door.cs", `${CWD}\\src\\Door.cs`, "c:/Users/dev/kiln/src/Door.cs"])
    expect(await touched(typed)).toEqual(["C:/Users/dev/kiln/src/Door.cs"])
})

test("in prose", () => {
  expect(pathsIn("see C:\\kiln\\Door.cs, and c:/kiln/Door.cs.")).toEqual(["C:/kiln/Door.cs"])
})
