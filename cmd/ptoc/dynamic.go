package main

// The layers of ptoc verify that run the program.
import _ "ptoc/verify/dynamic"
