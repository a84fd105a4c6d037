import type { ComponentChildren } from 'preact'
import type { Fault } from '../api/client.ts'
import type { Query } from '../api/query.ts'
import { visible, withLocalTimes } from './text/format.ts'

/** Error message of the server, with each single error if there are several. */
export function Trouble({ fault, retry }: { fault: Fault | undefined; retry?: () => void }) {
  if (!fault) return null
  return (
    <div class="trouble" role="alert">
      <p>{visible(withLocalTimes(fault.message))}</p>
      {fault.errors.length > 1 && (
        <ul>
          {fault.errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{visible(path)}</code> {visible(message)}
            </li>
          ))}
        </ul>
      )}
      {retry && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface EmptyProps {
  title: string
  children?: ComponentChildren
  /** Buttons for what can be done about it at once. */
  actions?: ComponentChildren
}

/** Message for an empty list, with what to do about it. */
export function Empty({ title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <p>{children}</p>}
      {actions && <div class="row">{actions}</div>}
    </div>
  )
}

interface LoadedProps<T> {
  query: Query<T>
  children: (data: T) => ComponentChildren
  /** Shows an error below the data, so that it does not move them. */
  below?: boolean
}

/** State of a query: its error, its first loading, or its data. Known data stay in place beside an error. */
export function Loaded<T>({ query, children, below = false }: LoadedProps<T>) {
  const { data, fault, reload } = query
  const trouble = <Trouble fault={fault} retry={reload} />
  return (
    <>
      {!below && trouble}
      {data === undefined ? !fault && <Skeleton /> : children(data)}
      {below && trouble}
    </>
  )
}

function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  )
}

/** What the reader typed but did not send, because another decided meanwhile; nothing if there is none. */
export function Unsent({ text }: { text: string | undefined }) {
  if (!text) return null
  return (
    <p class="held">
      Not sent: <q>{text}</q>
    </p>
  )
}
