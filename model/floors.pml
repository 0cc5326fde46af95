/* The lower bound of claims: rows below it are found as well, and a queue is called empty only if it is.
 *
 * Due times are the numbers of the rows. Producers commit them in any order, however late. A consumer claims from its
 * floor on, one row at a time; the floor follows the newest row that it claimed, but never passes a row that was due and
 * visible, such as one that another consumer has locked. Every so often, and before it sleeps, it looks below the floor.
 */
#ifndef ROWS
#define ROWS 4
#endif
#define BEHIND 1	/* how far the floor stays behind the newest claimed row */
#define HEAD 0
#define ABSENT 0
#define DUE 1
#define LOCKED 2	/* by another consumer, whose claim may be undone */
#define CLAIMED 3

byte row[ROWS + 1];	/* 1 to ROWS, as others see them */
byte floor = HEAD;
bit look_below;		/* half a second has passed */
byte claimed;

proctype producer(byte due) {
	row[due] = DUE	/* commits at last */
}

proctype other() {	/* another process claims a row, and gives it back or keeps it */
	byte i;
	do
	:: claimed == ROWS -> break
	:: claimed < ROWS ->
		select(i : 1 .. ROWS);
		if
		:: atomic { row[i] == DUE -> row[i] = LOCKED };
			if
			:: atomic { row[i] = DUE }	/* its transaction is undone */
			:: atomic { row[i] = CLAIMED; claimed++; break }
			fi
		:: else -> skip
		fi
	od
}

inline check_empty() {	/* it calls the queue empty: no row was due and free when it looked */
	d_step {
		i = 1;
		do
		:: i <= ROWS -> assert(row[i] != DUE); i++
		:: else -> break
		od;
		i = 0; oldest = 0; newest = 0; behind = 0
	}
}

proctype consumer() {
	byte start, i, oldest, newest, behind;
claim:
	atomic {
		if
		:: claimed == ROWS -> goto stop
		:: claimed < ROWS && look_below -> start = HEAD; look_below = 0
		:: claimed < ROWS && !look_below -> start = floor
		fi;
again:
		skip;
		d_step {	/* one statement: the first due row that nobody holds, and the first due row at all */
			i = (start > 1 -> start : 1); oldest = 0; newest = 0;
			do
			:: i <= ROWS ->
				if
				:: (row[i] == DUE || row[i] == LOCKED) && oldest == 0 -> oldest = i
				:: else -> skip
				fi;
				if
				:: row[i] == DUE && newest == 0 -> newest = i; row[i] = CLAIMED; claimed++
				:: else -> skip
				fi;
				i++
			:: else -> break
			od;
			i = 0
		}
		if
		:: newest != 0 ->
#ifdef BROKEN_PASSES_LOCKED_ROWS
			behind = newest + 1;
#else
			behind = (newest > BEHIND -> newest - BEHIND : HEAD);
			behind = (oldest < behind -> oldest : behind);
#endif
			/* the statement's order is that of due times, so nothing that was visible is left below its oldest row */
			floor = (start == HEAD || behind > floor -> behind : floor);
			d_step {
				i = (start > 1 -> start : 1);
				do
				:: i < floor && i <= ROWS -> assert(!(row[i] == DUE || row[i] == LOCKED)); i++
				:: else -> break
				od;
				i = 0
			}
			goto claimed_one
		:: newest == 0 && start != HEAD ->
#ifdef BROKEN_SLEEPS_WITHOUT_LOOKING
			check_empty(); start = 0; goto idle
#else
			start = HEAD; goto again	/* nothing from the floor on: before it sleeps it looks below */
#endif
		:: newest == 0 && start == HEAD -> check_empty(); goto idle
		fi
	}
claimed_one:
	atomic { start = 0; oldest = 0; newest = 0; behind = 0; goto claim }
idle:
	/* sleeps until something is due */
	(row[1] == DUE || row[2] == DUE || row[3] == DUE || row[4] == DUE || row[ROWS] == DUE || claimed == ROWS) -> goto claim;
stop:	skip
}

active proctype timer() {
	do
	:: claimed == ROWS -> break
	:: !look_below && claimed < ROWS -> look_below = 1
	od
}

init {
	byte p = 1;
	atomic {
		do
		:: p <= ROWS -> run producer(p); p++
		:: else -> break
		od;
		run other(); run consumer()
	}
}
