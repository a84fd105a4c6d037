import { Component, type ComponentChild } from 'preact'

interface OnceProps {
  /** What is drawn; and whatever else the drawing depends on. */
  of: readonly unknown[]
  draw: () => ComponentChild
}

/** Draws something once, and anew only when what it is of is another: for long lists of which little changes. */
export class Once extends Component<OnceProps> {
  override shouldComponentUpdate({ of }: OnceProps): boolean {
    return of.some((each, at) => each !== this.props.of[at])
  }

  override render(): ComponentChild {
    return this.props.draw()
  }
}
