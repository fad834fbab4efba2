import { ramariaDatabase } from 'ramaria/vitest'
import { test } from 'vitest'
import body from '../body.cjs'

body.isolation(test, ramariaDatabase)
