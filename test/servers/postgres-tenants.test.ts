/** Many users on one real PostgreSQL: nobody reads, counts, changes or guesses what is somebody else's. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { ADMINISTRATOR_SCRIPT } from "../../src/sync/targets/postgres-migrations.ts"
import { PARTITIONING_SCRIPT } from "../../src/sync/targets/postgres-partitions.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { closing } from "../support/closing.ts"
import { openPostgresFrames } from "../support/frames-of.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPostgres,
  type TestServer,
  usersOf,
} from "../support/postgres.ts"
import { draft, piece } from "../unit/sync/contract.ts"

setDefaultTimeout(60_000)

const SECRET = "the launch code is swordfish"

const kinds = postgresVersions().flatMap(
  ([version, programs]) =>
    [
      [version, programs, ADMINISTRATOR_SCRIPT],
      [`${version}, by month`, programs, `${ADMINISTRATOR_SCRIPT}${PARTITIONING_SCRIPT}`],
    ] as const,
)

describe.each(kinds)("tenants of PostgreSQL %s", (_version, programs, script) => {
  let server: TestServer
  const unique = script === ADMINISTRATOR_SCRIPT ? "tenant, key" : "tenant, key, started"
  const { addressOf, as, rows } = usersOf(() => server, programs)
  const open = (user: string, database?: string) =>
    openPostgresTarget(serverAddress(addressOf(user, database), NO_VARIABLES))

  const hers = draft({ content: SECRET, sessionId: "alices", project: "/src/alice", vector: [1, 0] })

  beforeAll(async () => {
    server = await startPostgres(programs)
    await server.run("CREATE DATABASE memory")
    for (const user of ["alice", "bob", "carol", "eve"])
      await server.run(`CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
    await server.run("CREATE ROLE team; GRANT team TO alice, carol")
    await rows("owner", script)
    await server.run("GRANT ctxbridge_user TO alice, bob, carol")
    await rows("owner", "GRANT CREATE ON SCHEMA public TO bob")
    await using alice = await closing(open("alice"))
    expect(await alice.put([hers, draft({ sessionId: "alices" })])).toMatchObject({ stored: 2 })
    await alice.forget({ ids: ["f".repeat(64)], sessions: ["alices-former"] })
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  test("what one has put is there for him alone", async () => {
    await using bob = await closing(open("bob"))
    expect(await bob.stats()).toEqual({ entries: 0, sessions: 0, forgotten: 0, damaged: 0 })
    expect(await bob.get(hers.id)).toBeUndefined()
    expect(await bob.find({ words: "launch", limit: 9 })).toEqual([])
    expect(await bob.find({ words: "", limit: 9 })).toEqual([])
    expect(await bob.find({ vector: hers.vector!, limit: 9 })).toEqual([])
    expect(await bob.find({ words: "launch", session: "alices", project: "/src/alice", limit: 9 })).toEqual(
      [],
    )
    expect(await bob.forget({ ids: [hers.id], sessions: ["alices"] })).toBe(0)
    await using alice = await closing(open("alice"))
    expect(await alice.stats()).toEqual({ entries: 2, sessions: 1, forgotten: 2, damaged: 0 })
    expect(await alice.get(hers.id)).toEqual(hers)
    expect(alice.id).not.toBe(bob.id)
  })

  test("the bytes of a vault are nobody else's, whoever he shares a team with", async () => {
    const frames = (user: string) =>
      closing(openPostgresFrames(serverAddress(addressOf(user), NO_VARIABLES), "one"))
    const bytes = piece(`{"text":"${SECRET}"}\n`, { session: "vaults" })
    const fills = { session: "vaults", key: "k", lines: { h: [[0, 1]] as const } }
    await using alice = await frames("alice")
    expect(await alice.put([bytes])).toEqual({ stored: 1, known: 0, refused: 0 })
    await alice.forget([], [fills])
    for (const user of ["bob", "carol"]) {
      await using other = await frames(user)
      expect([await other.list(), await other.get([bytes]), await other.fills()]).toEqual([[], [], []])
      // Were it known, he would learn that somebody has it.
      expect(await other.put([bytes])).toEqual({ stored: 1, known: 0, refused: 0 })
      await other.drop([bytes.copy])
      await other.forget(["vaults"])
      for (const table of ["frames", "fills"]) {
        expect((await rows(user, `SELECT count(*) FROM ctxbridge.${table}`)).trim()).toBe("0")
      }
      expect((await as(user, "UPDATE ctxbridge.frames SET session = 'x'")).stderr).toContain(
        "permission denied",
      )
      const forged =
        "INSERT INTO ctxbridge.fills (tenant, session, key, lines) VALUES ('alice', 's', 'k', '{}')"
      expect((await as(user, forged)).stderr).toContain("row-level security")
    }
    expect(await alice.get([bytes])).toEqual([bytes])
    expect(await alice.fills()).toEqual([fills])
    expect(await alice.forgotten([])).not.toContain("vaults")
  })

  test("the same turn of two is two, and forgetting one leaves the other", async () => {
    await using alice = await closing(open("alice"))
    await using carol = await closing(open("carol"))
    const shared = draft({ content: "both said it", sessionId: "both" })
    const longer = draft({ ...shared.metadata, content: "both said it, and more", messages: 9 })
    expect(await alice.put([shared])).toEqual({ stored: 1, known: 0, refused: 0 })
    // Were it known, he would learn that somebody has it.
    expect(await carol.put([shared])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect(await carol.put([longer])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect(await alice.get(shared.id)).toEqual(shared)
    expect(await carol.forget({ sessions: ["both"] })).toBe(1)
    expect(await alice.get(shared.id)).toEqual(shared)
    expect(await alice.put([shared])).toEqual({ stored: 0, known: 1, refused: 0 })
  })

  test("by SQL: nothing of others is seen, counted, changed or removed", async () => {
    const vector = await rows("alice", "SELECT embedding FROM ctxbridge.entries WHERE embedding IS NOT NULL")
    const nothing = [
      "SELECT * FROM ctxbridge.entries",
      "SELECT * FROM ctxbridge.forgotten WHERE tenant <> 'bob'",
      "SELECT * FROM ctxbridge.shared",
      "SELECT * FROM ctxbridge.conversations",
      "SELECT * FROM ctxbridge.transcript_entries",
      "SELECT * FROM ctxbridge.entries FOR UPDATE",
      "SELECT * FROM ctxbridge.find_by_words(ARRAY['launch'], 'launch', NULL, 99)",
      "SELECT * FROM ctxbridge.find_by_words(ARRAY['a'') OR true --'], 'launch', NULL, 99)",
      `SELECT * FROM ctxbridge.find_by_vector('${vector}', 'minilm', NULL, 99)`,
      `SELECT * FROM ctxbridge.find_by_vector('${vector}', 'minilm', '{"session": "x'' OR true --"}', 99)`,
      "COPY ctxbridge.entries TO STDOUT",
      "UPDATE ctxbridge.entries SET content = '' RETURNING 1",
      "SELECT nullif(ctxbridge.forget_entries(ARRAY(SELECT repeat('f', 64)), ARRAY['alices']), 0)",
      "SELECT nullif(ctxbridge.mend_entries(), 0)",
      "SELECT nullif(ctxbridge.drop_frames('one', ARRAY['c0ffee00-0000']), 0)",
      "SELECT nullif(ctxbridge.forget_frames(ARRAY['vaults']), 0)",
      "SELECT * FROM pg_stats WHERE schemaname = 'ctxbridge' AND most_common_vals IS NOT NULL",
      // A function of his own sees each row that the rules let through, and no other.
      `CREATE FUNCTION pg_temp.peek(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001
         AS 'BEGIN RAISE WARNING ''%'', $1; RETURN true; END';
       SELECT * FROM ctxbridge.entries WHERE pg_temp.peek(content)`,
      "SET ROLE ctxbridge_user; SELECT * FROM ctxbridge.entries",
    ]
    for (const statements of nothing)
      expect({ statements, rows: await rows("bob", statements) }).toEqual({ statements, rows: "" })
    expect(await rows("bob", "SELECT count(*), count(DISTINCT session) FROM ctxbridge.entries")).toBe("0|0")
    expect(await rows("alice", "SELECT count(*) FROM ctxbridge.entries WHERE content <> ''")).not.toBe("0")
  })

  test("by SQL: what may not be done fails alike, whether the others' row is there or not", async () => {
    const row = (tenant: string, id: string) =>
      `INSERT INTO ctxbridge.entries (tenant, key, id, started, session, messages, taken_back, summary, content, metadata,
         words, about) VALUES ('${tenant}', '${id === hers.id ? hers.key : "k"}', '${id}', '${hers.metadata.timestamp}', 's', 1, false, '', '', '{}', '', '{}')`
    const denied = async (user: string, statements: string) => {
      const { code, stdout, stderr } = await as(user, statements)
      expect({ statements, code, stdout }).toEqual({ statements, code: 3, stdout: "" })
      expect(stderr).toMatch(/row-level security|permission denied|must be (?:owner|able)/)
      expect(stderr).not.toMatch(/swordfish|alices|\/src/)
      return stderr
    }
    for (const more of [
      "",
      " ON CONFLICT DO NOTHING",
      ` ON CONFLICT (${unique}) DO UPDATE SET content = excluded.content`,
    ])
      expect(await denied("bob", row("alice", hers.id) + more)).toBe(
        await denied("bob", row("alice", "0") + more),
      )
    // In his own name he may have what he likes: it is in nobody's way.
    await rows("bob", `BEGIN; ${row("bob", hers.id)}; ROLLBACK`)
    const forgotten = (name: string) => `INSERT INTO ctxbridge.forgotten VALUES ('alice', 'id', '${name}')`
    expect(await denied("bob", forgotten("f".repeat(64)))).toBe(
      await denied("bob", forgotten("0".repeat(64))),
    )
    for (const statements of [
      "UPDATE ctxbridge.forgotten SET name = ''",
      "DELETE FROM ctxbridge.entries RETURNING 1",
      "DELETE FROM ctxbridge.frames",
      "UPDATE ctxbridge.entries SET tenant = 'bob' WHERE tenant = 'alice' RETURNING 1",
      "INSERT INTO ctxbridge.locks VALUES ('alice')",
      "DELETE FROM ctxbridge.forgotten",
      "TRUNCATE ctxbridge.entries",
      "UPDATE ctxbridge.target SET version = 1",
      "INSERT INTO ctxbridge.shared (tenant, project, team) VALUES ('alice', '/src/alice', 'bob')",
      "ALTER TABLE ctxbridge.entries DISABLE ROW LEVEL SECURITY",
      "CREATE TABLE ctxbridge.mine (entry text)",
      `CREATE TABLE public.mine (tenant text, key text, started text, FOREIGN KEY (${unique}) REFERENCES ctxbridge.entries (${unique}))`,
      "CREATE POLICY mine ON ctxbridge.entries USING (true)",
      "SET ROLE ctxbridge_owner",
    ])
      await denied("bob", statements).catch((error) => {
        throw new Error(`${statements}: ${error}`)
      })
    // Without row level security, nothing at all.
    expect((await as("bob", "SET row_security = off; SELECT * FROM ctxbridge.entries")).stderr).toContain(
      "row-level",
    )
    for (const statements of [
      "SELECT * FROM ctxbridge.entries",
      "SELECT ctxbridge.find_by_words('{}', '', NULL, 9)",
    ])
      await denied("eve", statements)
  })

  test("estimates of the planner do not tell what others have", async () => {
    await using carol = await closing(open("carol"))
    const many = Array.from({ length: 300 }, (_, n) =>
      draft({ sessionId: "carols", chunkIndex: n + 1, project: "/src/carol", content: "about marlin" }),
    )
    await carol.put(many)
    await server.run("\\c memory\nANALYZE")
    const estimate = async (condition: string): Promise<string | undefined> =>
      /rows=(\d+)/.exec(await rows("bob", `EXPLAIN SELECT * FROM ctxbridge.entries WHERE ${condition}`))?.[1]
    for (const column of ["session", "project", "key", "summary", "content"]) {
      const there = {
        session: "carols",
        project: "/src/carol",
        key: many[0]!.key,
        summary: "x",
        content: "about marlin",
      }
      expect(await estimate(`${column} = '${there[column as "session"]}'`)).toBe(
        await estimate(`${column} = 'nowhere'`),
      )
    }
    expect(await estimate("words @@ 'marlin'")).toBe(await estimate("words @@ 'zebra'"))
    expect(await estimate("tenant = 'carol'")).toBe(await estimate("tenant = 'nobody'"))
    await carol.forget({ sessions: ["carols"] })
  })

  test("what somebody shares is noted, and appears to nobody who has not agreed to it", async () => {
    await using carol = await closing(open("carol"))
    await using alice = await closing(open("alice"))
    // To a team of hers, to her own role, and to a role that there is not.
    for (const team of ["team", "carol", "no-such-team"])
      await rows("alice", `INSERT INTO ctxbridge.shared (project, team) VALUES ('/src/alice', '${team}')`)
    try {
      expect(await carol.get(hers.id)).toBeUndefined()
      expect(await carol.get(hers.id.slice(0, 16))).toBeUndefined()
      for (const query of [
        { words: "launch" },
        { words: "launch code", isAny: true },
        { words: "" },
        { vector: hers.vector! },
        { words: "launch", project: "/src/alice" },
      ])
        expect(await carol.find({ ...query, limit: 9 })).toEqual([])
      for (const table of ["entries", "shared", "conversations", "transcript_entries", "locks"])
        expect(
          await rows(
            "carol",
            `SELECT count(*) FROM ctxbridge.${table} WHERE to_jsonb(${table})::text ~ 'alice'`,
          ),
        ).toBe("0")
      expect(await carol.stats()).toMatchObject({ entries: 0 })
      expect(await carol.forget({ ids: [hers.id] })).toBe(0)
      // Hers to take back, and nobody else's.
      expect(await rows("carol", "DELETE FROM ctxbridge.shared RETURNING 1")).toBe("")
      expect(await rows("alice", "SELECT count(*) FROM ctxbridge.shared")).toBe("3")
      expect(await alice.find({ words: "launch", limit: 9 })).toMatchObject([{ id: hers.id }])
      // Whoever puts the same turn has it.
      await carol.put([draft({ ...hers.metadata, content: SECRET, sessionId: "carols-too" })])
      expect(await carol.find({ words: "launch", limit: 9 })).toMatchObject([
        { metadata: { sessionId: "carols-too" } },
      ])
    } finally {
      await rows("alice", "DELETE FROM ctxbridge.shared")
      await carol.forget({ sessions: ["carols-too"] })
    }
  })

  test("whatever one tenant locks, another one's sync goes on", async () => {
    /** In one transaction that stays open; what is refused is let go. */
    const held = [
      "SELECT pg_advisory_lock(7163001), pg_advisory_lock(7163002)",
      ...["alice", "bob", "owner"].map((name) => `SELECT pg_advisory_lock(7163002, hashtext('${name}'))`),
      "SELECT * FROM ctxbridge.locks FOR UPDATE",
      "INSERT INTO ctxbridge.locks DEFAULT VALUES ON CONFLICT DO NOTHING",
      "INSERT INTO ctxbridge.locks VALUES ('alice')",
      ...["entries", "forgotten", "frames", "fills", "locks", "target", "shared"].flatMap((table) =>
        ["ACCESS EXCLUSIVE", "EXCLUSIVE", "SHARE ROW EXCLUSIVE", "SHARE"].map(
          (mode) => `LOCK TABLE ctxbridge.${table} IN ${mode} MODE NOWAIT`,
        ),
      ),
      "SELECT * FROM ctxbridge.entries FOR UPDATE",
    ]
    const said = `BEGIN;\n${held.map((one, n) => `SAVEPOINT s${n}; ${one};`).join("\n")}\nSELECT 'all tried';\n`
    const words = [
      `${programs}/psql`,
      "-qXAt",
      "-v",
      "ON_ERROR_ROLLBACK=on",
      "-d",
      addressOf("bob"),
      "-f",
      "-",
    ]
    const bob = Bun.spawn(words, { stdin: "pipe", stdout: "pipe", stderr: "pipe" })
    try {
      bob.stdin.write(said)
      await bob.stdin.flush()
      const reader = bob.stdout.getReader()
      for (let text = ""; !text.includes("all tried"); ) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`psql ended: ${text}${await new Response(bob.stderr).text()}`)
        text += new TextDecoder().decode(value)
      }
      const patient = serverAddress(addressOf("alice"), NO_VARIABLES)
      await using alice = await closing(openPostgresTarget(patient, 5000))
      await using frames = await closing(openPostgresFrames(patient, "one", 5000))
      const turn = draft({ content: "meanwhile", sessionId: "meanwhile" })
      expect(await alice.put([turn])).toEqual({ stored: 1, known: 0, refused: 0 })
      expect(await alice.find({ words: "meanwhile", limit: 3 })).toMatchObject([{ id: turn.id }])
      const its = piece("meanwhile\n", { session: "meanwhile", copy: "b0b0" })
      expect(await frames.put([its])).toMatchObject({ stored: 1 })
      expect(await alice.forget({ sessions: ["meanwhile"] })).toBe(1)
      await frames.forget(["meanwhile"])
      await frames.drop([its.copy])
      expect(await frames.list()).not.toContainEqual(expect.objectContaining({ copy: its.copy }))
    } finally {
      bob.stdin.end()
      await bob.exited
    }
  })

  test("one's own turns are there under leafhill's names", async () => {
    await using carol = await closing(open("carol"))
    const usage = [
      { model: "one", input: 1, output: 20, cacheCreation: 300, cacheRead: 4000 },
      { model: "two", input: 2, output: 30, cacheCreation: 400, cacheRead: 5000 },
    ]
    const turn = draft({ content: "about tuna", sessionId: "tuna", project: "/src/tuna", usage })
    await carol.put([turn])
    const names = "session_id, content, project, model, input_tokens, output_tokens, cache_creation_tokens"
    const select = `SELECT ${names}, cache_read_tokens, message_timestamp FROM ctxbridge.conversations`
    expect(await rows("carol", `${select} WHERE session_id = 'tuna'`)).toBe(
      "tuna|about tuna|/src/tuna|one|3|50|700|9000|2026-01-01T00:00:00.000Z",
    )
    expect(await carol.get(turn.id)).toEqual(turn)
    await carol.forget({ sessions: ["tuna"] })
  })

  test("and under the design documents' names", async () => {
    await using carol = await closing(open("carol"))
    const turn = draft({
      content: "about cod",
      sessionId: "cod",
      toolNames: ["Bash"],
      trigger: "auto",
      preTokens: 9,
    })
    await carol.put([turn])
    const select = `SELECT key, content, type, namespace, tags, access_level, content_hash, session_id, chunk_index, summary,
      metadata ->> 'trigger', metadata -> 'preTokens', metadata -> 'turnRange', metadata ->> 'summary'
      FROM ctxbridge.transcript_entries WHERE session_id = 'cod'`
    const n = turn.metadata.chunkIndex
    expect((await rows("carol", select)).split("|")).toEqual([
      turn.key,
      "about cod",
      "episodic",
      "transcript-archive",
      '["transcript", "compaction", "cod", "Bash"]',
      "private",
      turn.metadata.contentHash!,
      "cod",
      `${n}`,
      "about cod",
      "auto",
      "9",
      `[${n}, ${n}]`,
      "about cod",
    ])
    await carol.forget({ sessions: ["cod"] })
  })

  test("whoever is not let in is told who can do it", async () => {
    await expect(open("eve")).rejects.toMatchObject({
      code: "target-denied",
      hint: expect.stringContaining("ctxbridge server init"),
    })
  })

  test("who may not bring older tables up to date is told who can, and changes nothing", async () => {
    await rows("owner", "UPDATE ctxbridge.target SET version = version - 1")
    try {
      await expect(open("alice")).rejects.toMatchObject({
        code: "target-older",
        message: expect.stringContaining("has tables of version 4, and this program needs version 5"),
        hint: expect.stringContaining("ctxbridge server migrate"),
      })
    } finally {
      await rows("owner", "UPDATE ctxbridge.target SET version = version + 1")
    }
  })

  test("users need no right to make anything, and the script may be run again", async () => {
    expect(await rows("alice", "SELECT has_database_privilege('memory', 'CREATE')")).toBe("f")
    const before = await rows("owner", "SELECT id, version FROM ctxbridge.target")
    await rows("owner", script)
    expect(await rows("owner", "SELECT id, version FROM ctxbridge.target")).toBe(before)
    await using alice = await closing(open("alice"))
    expect(await alice.get(hers.id)).toEqual(hers)
  })

  test("an administrator who is no superuser can run it", async () => {
    await server.run("CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'sesame'")
    await rows("dba", "CREATE DATABASE other", "postgres")
    // The roles are there already, from another database of the server.
    await server.run("GRANT ctxbridge_owner TO dba WITH ADMIN OPTION")
    await rows("dba", script, "other")
    await using alice = await closing(open("alice", "other"))
    expect(await alice.put([hers])).toMatchObject({ stored: 1 })
  })

  test("it does not build on what somebody has left there", async () => {
    await server.run("CREATE DATABASE squatted OWNER eve")
    await rows("eve", "CREATE SCHEMA ctxbridge", "squatted")
    const { code, stderr } = await as("owner", script, "squatted")
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("belongs to eve") })
    expect(
      await rows("owner", "SELECT count(*) FROM pg_tables WHERE schemaname = 'ctxbridge'", "squatted"),
    ).toBe("0")
  })
})
