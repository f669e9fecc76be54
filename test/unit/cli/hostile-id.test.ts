/** A session's id is the name of a file, so it may be anything: what is printed with it can be read, and pasted. */
import { expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"

const ID = "5e55\x1b[31m $(touch pwned)"
/** It is archived under the SHA-256 of its name, which a shell takes for one word. */
const ARCHIVED = new Bun.CryptoHasher("sha256").update(ID).digest("hex")

test("the command for the next page names a session so that a shell takes it for one word, whatever its transcript is called", async () => {
  using machine = new Inside()
  const session = machine.session({ id: ID })
  for (let n = 0; n < 51; n++) session.turn(`Turn ${n}`)
  session.flush()
  expect(await run(["import"], machine)).toMatchObject({ code: 0 })
  const { stdout, stderr } = await run(["show", ID], machine)
  expect(stderr).toBe("")
  expect(stdout).toContain(`page 1 of 2, next: ctxbridge show ${ARCHIVED} --page 2\n`)
  expect(stdout).not.toContain("\x1b")
  const { page } = JSON.parse((await run(["show", ID, "--json", "--page", "1"], machine)).stdout)
  expect(page.next).toBe(`ctxbridge show ${ARCHIVED} --page 2`)
})
