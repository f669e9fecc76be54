/**
 * Who sees which rows, and the functions that find them. Rules for rows keep an index from being used for words, since
 * PostgreSQL must not show a row to a search before it knows whose it is. So these functions run as the owner of the
 * tables, and ask themselves. They take values only, never SQL. Pure.
 */
import { pathPattern, plainTool } from "./entry-rules.ts"
import type { Ask } from "./postgres-door.ts"
import type { EntriesWanted, EntryQuery } from "./target.ts"

/** Whoever logged in, whatever role was set since. */
export const TENANT = "session_user::text"

/**
 * Keeps what puts and what forgets from each other, for each tenant: his own row, which nobody else can lock.
 *
 * @param also an expression that is evaluated with it
 */
export async function lockTenant(ask: Ask, mode: "SHARE" | "UPDATE", also = "1"): Promise<void> {
  const lock = `SELECT ${also} FROM ctxbridge.locks WHERE tenant = ${TENANT} FOR ${mode}`
  if ((await ask(lock)).length > 0) return
  await ask("INSERT INTO ctxbridge.locks DEFAULT VALUES ON CONFLICT DO NOTHING")
  await ask(lock)
}

/** What a query is narrowed to, as conditions on rows of `ctxbridge.entries`: the same as `filterFor` says. */
type Filter = Exclude<keyof EntriesWanted, "limit" | "withContent">

/** Texts of a list in the metadata. What is no list has none: a row that somebody damaged must not fail a search. */
const textsOf = (list: string): string =>
  `jsonb_array_elements_text(CASE jsonb_typeof(metadata->'${list}') WHEN 'array' THEN metadata->'${list}' ELSE '[]' END)`

/** Of the query's second parameter, which has what is wanted by name. */
const FILTERS: Readonly<Record<Filter, string>> = {
  session: "(session = $2->>'session' OR starts_with(session, ($2->>'session') || '/'))",
  project: "project = $2->>'project'",
  projectName:
    "substring(regexp_replace(project, '[/\\\\]\\.git$', '') FROM '[^/\\\\]+$') = $2->>'projectName'",
  since: "coalesce(metadata->>'ended', started) COLLATE \"C\" >= $2->>'since'",
  until: "started < $2->>'until'",
  tool: `EXISTS (SELECT FROM ${textsOf("toolNames")} t
    WHERE lower(regexp_replace(t, '[^[:alnum:]]+', '', 'g')) = $2->>'tool')`,
  file: `EXISTS (SELECT FROM ${textsOf("filePaths")} f WHERE f ~ ($2->>'file'))`,
}

/** An expression of SQL for the conditions that `narrowed` asks for, as SQL. */
const CONDITIONS = Object.entries(FILTERS)
  .map(([name, sql]) => `CASE WHEN narrowed ? '${name}' THEN ' AND ${sql.replaceAll("'", "''")}' ELSE '' END`)
  .join(" ||\n    ")

/** What the functions that find are given. */
export function narrowedTo({ withContent, tool, file, ...rest }: EntryQuery): string {
  const { session, project, projectName, since, until } = rest
  const isAny = "isAny" in rest && rest.isAny === true
  return JSON.stringify({
    session,
    project,
    projectName,
    since,
    until,
    tool: tool && plainTool(tool),
    file: file && pathPattern(file),
    withContent: withContent === true ? true : undefined,
    isAny: isAny ? true : undefined,
  })
}

/** Whose rows a function finds. */
interface Scope {
  /** Of the function's name, after `find`. */
  readonly name: string
  /** More columns of its result, and what is in them. */
  readonly columns: string
  readonly values: string
  readonly metadata: string
  /** Conditions on rows: by whichever index fits; and by none that begins with the tenant, which for a tenant with most
   *  of the rows is the worst to take. */
  readonly indexed: string
  readonly visible: string
  /** What else must hold of a whole row `e`. */
  readonly whole: string
  /** A statement that ends it where there is nothing to find. */
  readonly first: string
  /** How near an array is to `$1`: best is what is largest. */
  readonly nearness: string
}

const OWN: Scope = {
  name: "",
  columns: "",
  values: "",
  metadata: "e.metadata",
  indexed: `tenant = ${TENANT}`,
  visible: `tenant || '' = ${TENANT}`,
  whole: "",
  first: "",
  nearness: "(SELECT sum(a * b) FROM unnest(embedding, $1::real[]) AS u(a, b))::double precision",
}

/** Whether a row `e` that somebody else put has at most so many bytes: larger ones are not shown. */
const IS_OF_A_SIZE =
  "octet_length(e.content) + octet_length(e.summary) + octet_length(e.metadata::text) <= 4000000"

/** What others have put is what they like: neither may it fail the search, nor come first for being no number. */
const SHARED: Scope = {
  name: "_shared",
  columns: ", tenant text",
  values: ", e.tenant",
  // The server vouches for the project, and nobody for the machine.
  metadata: `CASE jsonb_typeof(e.metadata) WHEN 'object'
          THEN e.metadata - 'machine' || jsonb_build_object('project', e.project) ELSE '{}' END`,
  indexed: "(tenant, project) IN (SELECT s.owner, s.project FROM ctxbridge.accepted_shares() s)",
  visible: "(tenant || '', project) IN (SELECT s.owner, s.project FROM ctxbridge.accepted_shares() s)",
  whole: `WHERE b.score IS NOT NULL AND ${IS_OF_A_SIZE}`,
  first: "IF NOT EXISTS (SELECT FROM ctxbridge.accepted_shares()) THEN RETURN; END IF;",
  nearness: `coalesce(nullif((SELECT sum(a::double precision * b) / nullif(sqrt(sum(a::double precision * a)), 0)
        FROM unnest(embedding, $1::real[]) AS u(a, b)), 'NaN'), 0)`,
}

/** Without statistics, the planner takes every condition to be rare, and the whole table to be cheaper than an index. */
const result = ({
  columns,
}: Scope): string => `RETURNS TABLE (id text, key text, summary text, metadata jsonb, content text, score double precision${columns})
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off`

/** Whole rows of the best, which are known by their keys: what is not among them need not be copied. */
const whole = (scope: Scope): string => `SELECT e.id, e.key, e.summary, ${scope.metadata},
        CASE WHEN $2 ? 'withContent' THEN e.content END, b.score${scope.values}
      FROM best b JOIN ctxbridge.entries e USING (tenant, key) ${scope.whole}
      ORDER BY b.score DESC, e.started DESC NULLS LAST, e.id`

/** Entries that are compared one by one; and of those that have only some of the words. */
const MOST = 2000
const MOST_OF_ANY = 20_000

/**
 * Best are those with the most of the words in the summary, and then the shortest, as in a folder. Where very many have
 * the words, as many of those with all of them in the summary are compared, and as many others. No words: the latest.
 */
const findByWords = (
  scope: Scope,
): string => `CREATE OR REPLACE FUNCTION ctxbridge.find${scope.name}_by_words(
  wanted text[], lexemes tsquery, narrowed jsonb, most integer)
  ${result(scope)} AS $find$
DECLARE
  score text := coalesce((SELECT string_agg(format('(%L = ANY (about))::integer', w), ' + ') FROM unnest(wanted) w)
    || ' + ln(2) / ln(2 + size)', '0::double precision');
  rows text := 'FROM ctxbridge.entries WHERE ${scope.visible.replaceAll("'", "''")}' || ${CONDITIONS} ||
    CASE WHEN wanted = '{}' THEN '' ELSE ' AND words @@ $1' END;
  latest text := CASE WHEN wanted = '{}' THEN ' ORDER BY started DESC NULLS LAST, id' ELSE '' END;
  columns text := 'tenant, key, about, size, started, id ';
  compared integer := ${MOST};
BEGIN
  ${scope.first}
  IF narrowed ? 'isAny' AND wanted <> '{}' THEN
    compared := ${MOST_OF_ANY};
    columns := 'words, ' || columns;
    score := (SELECT string_agg(format('(words @@ %L::tsquery)::integer', array_to_tsvector(ARRAY[w])), ' + ') FROM unnest(wanted) w)
      || format(' + (%s) / %s', score, 2 + cardinality(wanted));
  END IF;
  RETURN QUERY EXECUTE format($query$
    WITH matches AS MATERIALIZED (SELECT %2$s %3$s LIMIT %4$s + 1),
    summed_up AS (SELECT %2$s AND about @> $4 AND (SELECT count(*) FROM matches) > %4$s LIMIT ${MOST}),
    best AS (
      SELECT tenant, key, coalesce((%1$s)::double precision, 0) AS score
      FROM (TABLE matches UNION TABLE summed_up) r ORDER BY 3 DESC, started DESC NULLS LAST, id LIMIT $3)
    ${whole(scope)}$query$, score, columns || rows, latest, compared)
    USING lexemes, narrowed, most, wanted;
END $find$`

export const FIND_BY_WORDS = findByWords(OWN)

const byVector = (scope: Scope): string => `CREATE OR REPLACE FUNCTION ctxbridge.find${scope.name}_by_vector(
  given text, of_embedder text, narrowed jsonb, most integer)
  ${result(scope)} AS $find$`

const rowsOf = ({ indexed }: Scope, columns: string): string =>
  `SELECT ${columns} FROM ctxbridge.entries WHERE ${indexed} %1$s`

const best = (scope: Scope, distance: string, rows: string): string => `
    WITH best AS (SELECT tenant, key, (1 - (${distance}))::double precision AS score FROM ${rows} ORDER BY ${distance} LIMIT $4)
    ${whole(scope)}`

/** The signs of a vector's numbers: two vectors that are near have most of them in common. */
export const signsOf = (array: string): string =>
  `(SELECT string_agg((v > 0)::integer::text, '' ORDER BY n)::varbit FROM unnest(${array}) WITH ORDINALITY AS u(v, n))`

/** Multiplying takes a hundred times as long as comparing signs, so only those with the fewest other signs have it done. */
const findByArray = (scope: Scope): string => `${byVector(scope)}
DECLARE
  sought varbit := ${signsOf("given::real[]")};
BEGIN
  ${scope.first}
  RETURN QUERY EXECUTE format($query$
    WITH near AS (
      ${rowsOf(scope, "tenant, key")} AND embedder = $3 AND signs IS NOT NULL AND length(signs) = length($5)
      ORDER BY bit_count(signs # $5) LIMIT 15 * $4 + 75
    ), best AS (
      SELECT tenant, key, ${scope.nearness} AS score
      FROM near JOIN ctxbridge.entries USING (tenant, key) ORDER BY 3 DESC LIMIT $4)
    ${whole(scope)}$query$, ${CONDITIONS}) USING given, narrowed, of_embedder, most, sought;
END $find$`

export const FIND_BY_ARRAY = findByArray(OWN)

/** Up to this many rows, all are compared: the index would find hardly any of them among the others. */
const FEW = 10_000

/** Extensions before 0.8 lack some of them, and refuse these once a vector was used. */
const settings = (of: Readonly<Record<string, string>>): string =>
  `PERFORM set_config(s.name, s.value, true) FROM (VALUES ${Object.entries(of)
    .map((one) => `('${one.join("', '")}')`)
    .join()}) AS s(name, value) WHERE current_setting(s.name, true) IS NOT NULL;`

/** @param further what is done among more rows than these, before what is done at last */
const findByVector = (scope: Scope, further = ""): string => `${byVector(scope)}
DECLARE
  filters text := ${CONDITIONS};
  candidates bigint;
  sought @embedding@ := given;
BEGIN
  ${scope.first}
  EXECUTE format('SELECT count(*) FROM (${rowsOf(scope, "").replaceAll("'", "''")} LIMIT ${FEW + 1}) c', filters)
    INTO candidates USING given, narrowed;
  IF candidates <= ${FEW} THEN
    RETURN QUERY EXECUTE format($query$${best(
      scope,
      "embedding @distance@ $1::@embedding@",
      `(${rowsOf(scope, "tenant, key, embedder, embedding")}) e WHERE embedder = $3`,
    )}$query$, filters) USING given, narrowed, of_embedder, most;
  ${further}ELSE
    -- Goes on until enough rows are of this tenant, or looks at more of them, where it can.
    ${settings({ "hnsw.iterative_scan": "strict_order", "hnsw.ef_search": "200" })}
    RETURN QUERY EXECUTE format($query$${best(
      scope,
      "embedding @distance@ $1::@embedding@",
      `ctxbridge.entries WHERE embedder = $3 AND ${scope.visible} %1$s`,
    )}$query$, filters) USING given, narrowed, of_embedder, most;
  END IF;
END $find$`

export const FIND_BY_VECTOR = findByVector(OWN)

/** What the index is of: numbers of a vector of length 1 always fit into half the room. */
export const HALVED = "@vectors@.l2_normalize(embedding)::@vectors@.halfvec(384)"

/** Whether that index is there, and whole. */
export const HAS_HALVED = `EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'ctxbridge.entries'::regclass AND c.relname = 'entries_halfvec' AND i.indisvalid)`

/**
 * By half the precision, more are looked for than are wanted, nearly in their order; these are compared as a whole. Without
 * sorting, no other index is of use to the planner, which takes each filter for a rare one.
 */
const byHalves = (scope: Scope): string => `ELSIF ${HAS_HALVED} THEN
    ${settings({
      enable_sort: "off",
      "hnsw.ef_search": "1000",
      "hnsw.iterative_scan": "relaxed_order",
      "hnsw.max_scan_tuples": "100000",
      "hnsw.scan_mem_multiplier": "8",
    })}
    RETURN QUERY EXECUTE format($query$${best(
      scope,
      "embedding @distance@ $1::@embedding@",
      `(SELECT tenant, key, embedding FROM ctxbridge.entries WHERE embedder = $3 AND ${scope.visible} %1$s
        ORDER BY ${HALVED} OPERATOR(@vectors@.<=>) $5 LIMIT 4 * $4 + 60) near`,
    )}$query$, filters)
      USING given, narrowed, of_embedder, most, @vectors@.l2_normalize(sought)::@vectors@.halfvec(384);
    PERFORM set_config('enable_sort', 'on', true);
  `

/** Anew, for extensions before 0.8; and with that index where it is there. */
export const FIND_BY_HALVES = [
  FIND_BY_VECTOR,
  findByVector(SHARED),
  findByVector(OWN, byHalves(OWN)),
  findByVector(SHARED, byHalves(SHARED)),
]

/** The same among what others share and the tenant has agreed to; and one of these turns, by the beginning of its id. */
export const FIND_SHARED = [
  findByWords(SHARED),
  findByArray(SHARED),
  findByVector(SHARED),
  `CREATE OR REPLACE FUNCTION ctxbridge.get_shared(beginning text)
  RETURNS TABLE (id text, key text, summary text, content text, metadata jsonb, tenant text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $get$
  SELECT e.id, e.key, e.summary, e.content, ${SHARED.metadata}, e.tenant FROM ctxbridge.entries e
  WHERE e.id >= beginning AND starts_with(e.id, beginning) AND ${SHARED.indexed}
    AND ${IS_OF_A_SIZE} ORDER BY e.id LIMIT 20
$get$`,
]
