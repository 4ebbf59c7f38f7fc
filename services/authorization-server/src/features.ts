import type { Feature } from './feature.js'
import { refusedRequests } from './features/refused-requests/refused-requests-feature.js'

/** The optional capabilities. To remove one, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [refusedRequests]
