/**
 * Version of the decoding: goes up when lines are decoded differently. Views with another number are rebuilt
 * (open-current.ts). A test fails when the views of test/golden/transcripts are no longer those of this number.
 */
export const PARSER = 27

/** SQLite's `application_id` once every copy in the vault has been seen: "ctxb". */
export const SEEN_ALL = 0x63747862

/**
 * The views' tables. A migration's position is its number: never change a released one, only add. `PRAGMA user_version`
 * is the number of migrations applied.
 *
 * Offsets and lengths are bytes of the transcript. The full text is in the vault; text stored here is cut to what
 * restores and listings show.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE projects (
    id   INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE            -- git common dir, else the first cwd
  ) STRICT;

  CREATE TABLE sessions (
    id      TEXT PRIMARY KEY,            -- subagents: <session>/<agent>
    project INTEGER REFERENCES projects,
    parent  TEXT,                        -- the session that started this subagent
    agent   TEXT,
    title   TEXT,
    cwd     TEXT,
    branch  TEXT,
    version TEXT,                        -- of Claude Code, as last seen
    started TEXT,
    ended   TEXT,
    todos   TEXT NOT NULL DEFAULT '[]'   -- JSON: [{id, content, status}]
  ) STRICT;
  CREATE INDEX sessions_project ON sessions (project, ended);
  CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;

  CREATE TABLE transcripts (
    id       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL,              -- where Claude Code keeps it
    copy     TEXT NOT NULL UNIQUE,       -- below vault/
    copy_id  TEXT NOT NULL UNIQUE,
    session  TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0, -- in the vault
    indexed  INTEGER NOT NULL DEFAULT 0, -- in the views
    turn     INTEGER                     -- the turn still growing
  ) STRICT;
  CREATE INDEX transcripts_session ON transcripts (session);
  CREATE INDEX transcripts_path ON transcripts (path);

  CREATE TABLE turns (
    id          INTEGER PRIMARY KEY,
    handle      TEXT NOT NULL UNIQUE,
    session     TEXT NOT NULL,
    seq         INTEGER NOT NULL,        -- from 1, in file order
    via         TEXT NOT NULL,           -- typed, queued, command, bash, memory, brief; none: no prompt seen
    prompt      TEXT NOT NULL,
    answer      TEXT NOT NULL DEFAULT '',
    started     TEXT,
    ended       TEXT,
    transcript  INTEGER NOT NULL REFERENCES transcripts,
    first       INTEGER NOT NULL,        -- offset of its first line
    last        INTEGER NOT NULL,        -- offset behind its last line
    tools       INTEGER NOT NULL DEFAULT 0,
    errors      INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, seq)
  ) STRICT;
  CREATE INDEX turns_via ON turns (session, via);

  CREATE TABLE messages (
    id         INTEGER PRIMARY KEY,
    key        INTEGER NOT NULL UNIQUE,  -- hash of uuid and content: forks and resumes copy lines
    alias      INTEGER,                  -- hash of message.id or tool_use_id and content, see ingest.ts
    session    TEXT NOT NULL,
    turn       INTEGER NOT NULL REFERENCES turns,
    transcript INTEGER NOT NULL REFERENCES transcripts,
    offset     INTEGER NOT NULL,
    length     INTEGER NOT NULL,
    role       TEXT NOT NULL,            -- human, assistant, tool, host
    sidechain  INTEGER NOT NULL DEFAULT 0,
    time       TEXT
  ) STRICT;
  CREATE INDEX messages_turn ON messages (turn);
  CREATE UNIQUE INDEX messages_alias ON messages (session, alias) WHERE alias IS NOT NULL;

  CREATE TABLE tool_calls (
    session   TEXT NOT NULL,
    id        TEXT NOT NULL,             -- tool_use_id
    turn      INTEGER NOT NULL REFERENCES turns,
    name      TEXT NOT NULL,
    target    TEXT NOT NULL,             -- command, path, pattern
    use       INTEGER,                   -- id of the message that holds the input
    result    INTEGER,                   -- id of the message that holds the output
    is_error  INTEGER,                   -- NULL while unanswered
    exit_code INTEGER,
    error     TEXT,                      -- start of an error's text
    sidechain INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tool_calls_turn ON tool_calls (turn);
  CREATE INDEX tool_calls_commands ON tool_calls (session, is_error, result) WHERE name = 'Bash';

  CREATE TABLE files (
    session TEXT NOT NULL,
    turn    INTEGER NOT NULL REFERENCES turns,
    path    TEXT NOT NULL,
    op      TEXT NOT NULL,               -- read, write, edit, command
    count   INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (turn, path, op)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX files_path ON files (path);
  CREATE INDEX files_changed ON files (session, turn) WHERE op IN ('edit', 'write');

  CREATE TABLE usage (
    session        TEXT NOT NULL,
    message        TEXT NOT NULL,        -- message.id: the counts repeat on each of its lines
    turn           INTEGER NOT NULL REFERENCES turns,
    model          TEXT NOT NULL,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_creation INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    sidechain      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, message)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX usage_turn ON usage (turn);

  CREATE TABLE notes (
    session TEXT NOT NULL,
    kind    TEXT NOT NULL,               -- constraint, decision
    turn    INTEGER NOT NULL REFERENCES turns,
    text    TEXT NOT NULL,
    PRIMARY KEY (session, kind, turn, text)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE boundaries (
    transcript INTEGER NOT NULL REFERENCES transcripts,
    offset     INTEGER NOT NULL,
    session    TEXT NOT NULL,
    trigger    TEXT NOT NULL,
    pre_tokens INTEGER,
    time       TEXT,
    PRIMARY KEY (transcript, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX boundaries_session ON boundaries (session);

  CREATE TABLE lineage (
    child  TEXT NOT NULL,
    parent TEXT NOT NULL,
    kind   TEXT NOT NULL,                -- fork, clear
    turn   INTEGER,                      -- last turn they share
    PRIMARY KEY (child, parent, kind)
  ) STRICT, WITHOUT ROWID;

  -- What was given back, and for which event. Not a view: rebuild keeps it.
  CREATE TABLE restores (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    source  TEXT NOT NULL,               -- compact, clear, startup, resume
    mark    TEXT NOT NULL,               -- names the event, so that it is answered once
    time    INTEGER NOT NULL,
    text    TEXT NOT NULL,
    UNIQUE (session, source, mark)
  ) STRICT;
  `,
  `
  -- The PARSER that made the views; no row: one from before there was a number.
  CREATE TABLE parser (version INTEGER NOT NULL) STRICT;

  -- Whose words: human, assistant, tool, web, subagent, import, host (agents/origin.ts). '' until made anew.
  ALTER TABLE sessions ADD COLUMN title_origin TEXT NOT NULL DEFAULT '';
  ALTER TABLE turns ADD COLUMN origin TEXT NOT NULL DEFAULT '';      -- of the prompt
  ALTER TABLE messages ADD COLUMN origin TEXT NOT NULL DEFAULT '';
  ALTER TABLE tool_calls ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- of the output
  ALTER TABLE notes ADD COLUMN origin TEXT NOT NULL DEFAULT '';
  `,
  `
  ALTER TABLE messages ADD COLUMN kind TEXT NOT NULL DEFAULT ''; -- record/searchable.ts

  -- By which words messages are found (word-index.ts); rowid: the message. Whether, not where or how often: the
  -- text itself is in the vault. Tokens are made by base/words.ts, SQLite only parts them at spaces.
  CREATE VIRTUAL TABLE words USING fts5(
    text, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  );
  CREATE TRIGGER messages_words AFTER DELETE ON messages BEGIN
    DELETE FROM words WHERE rowid = old.id;
  END;
  `,
  `
  -- What was said in a turn, as vectors. Made by the background job, not while indexing; rebuild keeps them.
  CREATE TABLE vectors (
    turn      INTEGER NOT NULL REFERENCES turns,
    embedder  TEXT NOT NULL,             -- what made them: vectors of two embedders are never compared
    dimension INTEGER NOT NULL,
    last      INTEGER NOT NULL,          -- turns.last at that time: a turn that has grown since is due again
    vectors   BLOB NOT NULL,             -- message, scale and numbers of each, see views/vectors.ts
    PRIMARY KEY (turn, embedder)
  ) STRICT;
  CREATE TRIGGER turns_vectors AFTER DELETE ON turns BEGIN
    DELETE FROM vectors WHERE turn = old.id;
  END;
  CREATE TRIGGER messages_vectors AFTER DELETE ON messages BEGIN
    DELETE FROM vectors WHERE turn = old.turn;
  END;
  `,
  `
  -- Names, paths, commands and error lines of the session's own chain, for what to give back (record/facts.ts).
  CREATE TABLE facts (
    session TEXT NOT NULL,
    kind    TEXT NOT NULL,               -- path, command, name, error
    text    TEXT NOT NULL,
    form    TEXT NOT NULL,               -- as last written: a command with redirections and filters
    times   INTEGER NOT NULL DEFAULT 1,  -- messages that hold it
    since   INTEGER NOT NULL,            -- the first turn that holds it
    latest  INTEGER NOT NULL,            -- the last message that holds it
    PRIMARY KEY (session, kind, text)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX facts_latest ON facts (session, kind, latest);
  `,
  `
  ALTER TABLE turns ADD COLUMN uuid TEXT; -- of its first line, as Claude Code wrote it
  `,
  `
  -- Without names of sessions, which were a third of both: 4 % of the transcripts' bytes.
  DROP TABLE facts;
  CREATE TABLE facts (
    session INTEGER NOT NULL,            -- hash of its id (identity.ts)
    kind    TEXT NOT NULL,               -- path, command, name, error
    text    TEXT NOT NULL,
    form    TEXT NOT NULL,               -- as last written: a command with redirections and filters; '': as its text
    times   INTEGER NOT NULL DEFAULT 1,  -- messages that hold it
    since   INTEGER NOT NULL,            -- the first turn that holds it
    latest  INTEGER NOT NULL,            -- the last message that holds it
    PRIMARY KEY (session, kind, text)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX facts_latest ON facts (session, kind, latest);
  DROP INDEX messages_alias;
  CREATE INDEX messages_alias ON messages (alias) WHERE alias IS NOT NULL;
  `,
  `
  ALTER TABLE turns ADD COLUMN parent TEXT;     -- uuid of the line that its prompt follows
  ALTER TABLE turns ADD COLUMN todos TEXT;      -- the session's when it began; NULL: none
  ALTER TABLE turns ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0; -- by the user (take-back.ts)
  CREATE INDEX turns_parent ON turns (session, parent) WHERE parent IS NOT NULL;
  CREATE INDEX turns_taken_back ON turns (session) WHERE taken_back = 1;
  `,
  `
  -- Orders what was said in one turn: offset of the line, plus the number of the sentence in it.
  ALTER TABLE notes ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What Claude Code itself says of cost and work (record/types.ts, ClaudeResult).
  CREATE TABLE results (
    key            INTEGER PRIMARY KEY,  -- hash: forks copy lines
    session        TEXT NOT NULL,
    transcript     INTEGER NOT NULL REFERENCES transcripts,
    offset         INTEGER NOT NULL,
    kind           TEXT NOT NULL,        -- success, error_max_turns, …, cost-state
    is_error       INTEGER NOT NULL,
    cost           REAL,                 -- US dollars, of its process so far
    requests       INTEGER,              -- to the model
    duration       REAL,                 -- ms
    input          INTEGER,
    output         INTEGER,
    cache_creation INTEGER,
    cache_read     INTEGER,
    time           TEXT
  ) STRICT;
  CREATE INDEX results_session ON results (session, transcript, offset);

  ALTER TABLE transcripts ADD COLUMN malformed INTEGER NOT NULL DEFAULT 0; -- lines that are no JSON object
  `,
  `
  -- Names, paths and commands that a restore showed or left out by chance. Not a view: rebuild keeps it.
  CREATE TABLE slots (
    session TEXT NOT NULL,               -- with source and mark: the row of restores
    source  TEXT NOT NULL,
    mark    TEXT NOT NULL,
    items   TEXT NOT NULL,               -- JSON: [kind, text, handle, cell, 1 if shown] of each
    PRIMARY KEY (session, source, mark)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER restores_removed AFTER DELETE ON restores BEGIN
    DELETE FROM slots WHERE session = old.session AND source = old.source AND mark = old.mark;
  END;
  -- What was forgotten or overwritten there must not stay here.
  CREATE TRIGGER restores_changed AFTER UPDATE OF text ON restores WHEN old.text <> '' BEGIN
    DELETE FROM slots WHERE session = old.session AND source = old.source AND mark = old.mark;
  END;

  -- What became of it, and of what our server and commands answered: made by the background job, from the
  -- vault.
  CREATE TABLE followed (
    session TEXT PRIMARY KEY,
    size    INTEGER NOT NULL             -- bytes of its transcripts by then
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE outcomes (
    session TEXT NOT NULL,
    source  TEXT NOT NULL,
    mark    TEXT NOT NULL,
    letters TEXT NOT NULL,               -- one for each of its slots
    PRIMARY KEY (session, source, mark)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE uses (
    turn    INTEGER NOT NULL REFERENCES turns, -- of which something was used
    session TEXT NOT NULL,                     -- where it was used
    kind    TEXT NOT NULL,                     -- path, command, name, handle
    time    INTEGER NOT NULL                   -- ms since the epoch
  ) STRICT;
  CREATE INDEX uses_turn ON uses (turn);
  CREATE INDEX uses_session ON uses (session);
  CREATE TRIGGER turns_uses AFTER DELETE ON turns BEGIN
    DELETE FROM uses WHERE turn = old.id;
  END;
  CREATE TABLE learned (
    project INTEGER NOT NULL REFERENCES projects,
    kind    TEXT NOT NULL,               -- path, command, name
    cell    TEXT NOT NULL,               -- what is known of facts like it; '': the row is about one item
    item    TEXT NOT NULL,               -- '': the row is about all of the cell
    shown   INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    weight  REAL NOT NULL,
    PRIMARY KEY (project, kind, item, cell)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Whether its messages have no words and it has no vectors (tiering.ts). Not a view: it follows from time and uses.
  ALTER TABLE turns ADD COLUMN cold INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX turns_cold ON turns (id) WHERE cold = 1;
  `,
  `
  -- Of cache_creation, what is kept for an hour: it costs more than what is kept for five minutes.
  ALTER TABLE usage ADD COLUMN cache_hour INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage ADD COLUMN time TEXT; -- of the message's first line
  `,
  `
  -- What a model wrote about sessions (kept-summaries.ts). Apart from what was said in them: nothing restores it.
  CREATE TABLE summaries (
    transcript INTEGER NOT NULL REFERENCES transcripts,
    offset     INTEGER NOT NULL,
    session    TEXT NOT NULL,            -- that it is about
    time       TEXT NOT NULL,
    model      TEXT NOT NULL,
    seq        INTEGER NOT NULL,         -- of the last turn that the model has read
    last       INTEGER NOT NULL,         -- turns.last of that turn then: one that has grown since is read again
    cost       REAL,                     -- US dollars, as Claude Code reports it
    fields     TEXT NOT NULL,            -- JSON: request, investigated, learned, completed, next
    PRIMARY KEY (transcript, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX summaries_session ON summaries (session);

  CREATE TABLE observations (
    id         INTEGER PRIMARY KEY,
    handle     TEXT NOT NULL UNIQUE,
    transcript INTEGER NOT NULL REFERENCES transcripts,
    session    TEXT NOT NULL,            -- that it is about
    time       TEXT NOT NULL,            -- of the last turn that the model had read
    model      TEXT NOT NULL,
    type       TEXT NOT NULL,            -- decision, bugfix, feature, refactor, discovery, change
    title      TEXT NOT NULL,
    fields     TEXT NOT NULL             -- JSON: narrative, facts, files, turns
  ) STRICT;
  CREATE INDEX observations_session ON observations (session);
  CREATE INDEX observations_time ON observations (time);

  -- Not among the words of messages, so that no observation takes a real turn's place.
  CREATE VIRTUAL TABLE observation_words USING fts5(
    text, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  );
  CREATE TRIGGER observations_words AFTER DELETE ON observations BEGIN
    DELETE FROM observation_words WHERE rowid = old.id;
  END;
  `,
  `
  -- Whole records that were found in lines that are no JSON object (record/whole-records.ts).
  ALTER TABLE transcripts ADD COLUMN rescued INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE turns ADD COLUMN tip TEXT; -- uuid of its last line, which the next prompt follows (take-back.ts)
  CREATE INDEX turns_tip ON turns (session, tip) WHERE tip IS NOT NULL;
  `,
  `
  ALTER TABLE tool_calls ADD COLUMN output TEXT; -- name of the file where Claude Code keeps all of its output
  `,
  `
  -- The project that it is joined with, at the end of the chain (joined-projects.ts): its folder was moved there.
  ALTER TABLE projects ADD COLUMN joined INTEGER REFERENCES projects;
  -- The project of its folder, if that is joined with another; project is then the other.
  ALTER TABLE sessions ADD COLUMN own INTEGER REFERENCES projects;
  -- Whether only its prompts are known, from the list of all prompts (ingest.ts).
  ALTER TABLE sessions ADD COLUMN prompts_only INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX sessions_own ON sessions (own) WHERE own IS NOT NULL;
  `,
  `
  -- Name of the agent whose session it is (agents/agents.ts); NULL: Claude Code.
  ALTER TABLE sessions ADD COLUMN program TEXT;
  -- The model that its lines have named last, where they name it apart from their counts of tokens.
  ALTER TABLE sessions ADD COLUMN model TEXT;
  -- For the latest scripts of a session, whatever an agent calls the tool that runs them.
  DROP INDEX tool_calls_commands;
  CREATE INDEX tool_calls_commands ON tool_calls (session, is_error, result, name);
  `,
  `
  -- Restores are no longer followed for what was used of them (docs/adr/0051): handles that were opened are in tool_calls.
  DROP TRIGGER restores_removed;
  DROP TRIGGER restores_changed;
  DROP TRIGGER turns_uses;
  DROP TABLE slots;
  DROP TABLE outcomes;
  DROP TABLE uses;
  DROP TABLE followed;
  DROP TABLE learned;
  `,
  `
  -- Answered in fast mode, whose prices are others.
  ALTER TABLE usage ADD COLUMN fast INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- Which sessions hold the same message: only theirs must be summed up together.
  CREATE INDEX usage_message ON usage (message);
  `,
  `
  -- Another number whenever turns were taken out: what was followed by their numbers no longer tells what has changed.
  CREATE TABLE removals (mark INTEGER NOT NULL) STRICT;
  INSERT INTO removals (mark) VALUES (random());
  CREATE TRIGGER turns_removals AFTER DELETE ON turns BEGIN
    UPDATE removals SET mark = random();
  END;
  `,
]
