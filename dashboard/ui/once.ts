import { Component, type ComponentChild } from 'preact'

interface OnceProps {
  /** The drawn data, and everything else that the drawing depends on. */
  of: readonly unknown[]
  draw: () => ComponentChild
}

/** Draws something once, and again only if its data changes: for long lists with few changes. */
export class Once extends Component<OnceProps> {
  override shouldComponentUpdate({ of }: OnceProps): boolean {
    return of.some((each, at) => each !== this.props.of[at])
  }

  override render(): ComponentChild {
    return this.props.draw()
  }
}
