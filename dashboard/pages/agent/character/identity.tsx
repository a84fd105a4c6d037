import { useState } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { never, ofAgent, useQuery } from '../../../api/query.ts'
import { Card } from '../../../ui/card.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { Tag } from '../../../ui/status.tsx'
import { Code } from '../../../ui/text/code.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { count, plural, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Answer } from '../../../ui/types.ts'
import type { ViewProps } from '../view.ts'

type Self = Answer<'identity.get'>

/** Identity of an agent: its story, its opinions, its open questions, and its journal. */
export function Identity({ agent: { agent_id: id, role } }: ViewProps) {
  const query = useQuery(`identity ${id}`, { ask: () => api.identity.get({ id }), on: ofAgent(id) })
  return (
    <Loaded query={query}>
      {self => (
        <div class="columns">
          <div class="stack">
            <Story self={self} role={role} />
            <Biography id={id} />
          </div>
          <div class="stack">
            <Thoughts self={self} />
            <Journal id={id} />
          </div>
        </div>
      )}
    </Loaded>
  )
}

function Story({
  self: { display_name, traits, domains, narrative, chapters, created_at },
  role,
}: {
  self: Self
  role: string
}) {
  // The role, which is shown above, begins with the first of its domains.
  const tags = [...traits, ...domains.filter(domain => !role.startsWith(domain))]
  return (
    <Card
      title="Story"
      aside={
        <small>
          called {visible(display_name)} · created <When at={created_at} />
        </small>
      }
    >
      <div class="stack">
        {tags.length > 0 && (
          <p class="row">
            {tags.map(each => (
              <Tag key={each}>{visible(each)}</Tag>
            ))}
          </p>
        )}
        {chapters.length === 0 && narrative === '' && (
          <Empty title="No story yet.">Each goal adds a line when it ends.</Empty>
        )}
        {narrative && <Lines lines={narrative.split('\n').filter(Boolean)} />}
        {chapters.length > 0 && (
          <section class="stack tight">
            <h3>Chapters</h3>
            <Lines lines={chapters.map(({ index, summary }) => `${index}. ${summary}`)} />
          </section>
        )}
      </div>
    </Card>
  )
}

const LINES = 12

/** Lines of the story, newest first; all of them on request. */
function Lines({ lines }: { lines: readonly string[] }) {
  const [whole, setWhole] = useState(false)
  const shown = whole ? lines : lines.slice(-LINES)
  return (
    <>
      <ul class="plain story">
        {[...shown].reverse().map((line, at) => (
          <li key={lines.length - at}>{visible(line)}</li>
        ))}
      </ul>
      {lines.length > LINES && (
        <div class="row">
          <button type="button" class="small quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? 'Show less' : `Show all ${plural(lines.length, 'line')}`}
          </button>
        </div>
      )}
    </>
  )
}

function Thoughts({ self: { worldview, opinions, open_questions, evolution } }: { self: Self }) {
  const isEmpty = !worldview && opinions.length + open_questions.length + evolution.length === 0
  return (
    <Card title="Opinions and questions">
      {isEmpty ? (
        <Empty title="No opinions yet.">The agent’s opinions and questions are listed here.</Empty>
      ) : (
        <div class="stack">
          {worldview && <Words text={worldview} />}
          {opinions.length > 0 && (
            <section class="stack tight">
              <h3>Opinions</h3>
              <dl class="pairs">
                {opinions.map(({ domain, opinion, formed_at }) => (
                  <>
                    <dt key={domain}>{visible(domain)}</dt>
                    <dd>
                      {visible(opinion)}{' '}
                      <small>
                        <When at={formed_at} />
                      </small>
                    </dd>
                  </>
                ))}
              </dl>
            </section>
          )}
          {open_questions.length > 0 && (
            <section class="stack tight">
              <h3>Open questions</h3>
              <ul class="plain list tall">
                {open_questions.map(({ question_id, question, asked_at }) => (
                  <li key={question_id}>
                    <span>{visible(question)}</span>
                    <small>
                      <When at={asked_at} />
                    </small>
                  </li>
                ))}
              </ul>
            </section>
          )}
          {evolution.length > 0 && (
            <section class="stack tight">
              <h3>History</h3>
              <ul class="plain list">
                {evolution.slice(0, LINES).map(({ at, kind, note }) => (
                  <li key={`${at} ${note}`}>
                    <Tag>{kind}</Tag>
                    <span>{visible(note)}</span>
                    <small>
                      <When at={at} />
                    </small>
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
      )}
    </Card>
  )
}

function Journal({ id }: { id: string }) {
  const query = useQuery(`journal ${id}`, { ask: () => api.identity.journal({ id }), on: ofAgent(id) })
  return (
    <Card
      title="Journal"
      aside={
        query.data?.modified_at && (
          <small>
            <When at={query.data.modified_at} />
          </small>
        )
      }
    >
      <Loaded query={query}>
        {({ text, bytes }) =>
          text.trim() === '' ? (
            <Empty title="The notepad is empty.">
              The agent writes to it with <code>write_notepad</code>.
            </Empty>
          ) : (
            <div class="stack tight">
              <Code value={text.trim()} label="Notepad" />
              {bytes > new TextEncoder().encode(text).length && <small>Last part of {count(bytes)} bytes</small>}
            </div>
          )
        }
      </Loaded>
    </Card>
  )
}

/** Biography, loaded only on request because it is written anew each time. */
function Biography({ id }: { id: string }) {
  const [open, setOpen] = useState(false)
  const query = useQuery(open ? `biography ${id}` : null, {
    ask: () => api.identity.biography({ id }),
    on: never,
  })
  return (
    <details class="card" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Biography</summary>
      {open && <Loaded query={query}>{text => <Code value={text} label="Biography" />}</Loaded>}
    </details>
  )
}
