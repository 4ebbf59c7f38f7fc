// npm start
import { launch } from '../lib/launch.mjs'

await launch(process.argv.slice(2))
