#if PostgreSQL
extension PostgresQueueSchema {
    /// Counts the jobs of each state, so that snapshots and pruning don't have to read the history. Pruning takes short steps. A change
    /// that returns downloads is one call, because the queue's lock must not wait for the client.
    static let version2 = tallies + indexes + stepsOfPruning + otherFunctions + changedFunctions

    private static let selection = "p_states int8[], p_kind text, p_name text, p_ids int8[]"
    private static let selected = "p_states, p_kind, p_name, p_ids"

    // MARK: Counts

    /// Triggers count, so nothing can forget to, not even SQL that somebody types. They run once per statement, because a counter that one
    /// transaction changes ten thousand times would have as many row versions.
    private static let tallies = [
        """
        CREATE TABLE tally (
            queue int8 NOT NULL,
            state int8 NOT NULL,
            number int8 NOT NULL,
            PRIMARY KEY (queue, state)
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE FUNCTION count_states() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO tally (queue, state, number) SELECT queue, state, count(*) FROM came GROUP BY queue, state
                    ON CONFLICT (queue, state) DO UPDATE SET number = tally.number + excluded.number;
            ELSIF TG_OP = 'DELETE' THEN
                INSERT INTO tally (queue, state, number) SELECT queue, state, -count(*) FROM went GROUP BY queue, state
                    ON CONFLICT (queue, state) DO UPDATE SET number = tally.number + excluded.number;
            ELSE
                INSERT INTO tally (queue, state, number)
                    SELECT queue, state, sum(change) FROM (
                        SELECT queue, state, 1 AS change FROM came UNION ALL SELECT queue, state, -1 FROM went) AS changes
                    GROUP BY queue, state HAVING sum(change) <> 0
                    ON CONFLICT (queue, state) DO UPDATE SET number = tally.number + excluded.number;
            END IF;
            RETURN NULL;
        END $$
        """,
        """
        CREATE TRIGGER job_came AFTER INSERT ON job REFERENCING NEW TABLE AS came
            FOR EACH STATEMENT EXECUTE FUNCTION count_states()
        """,
        """
        CREATE TRIGGER job_changed AFTER UPDATE ON job REFERENCING OLD TABLE AS went NEW TABLE AS came
            FOR EACH STATEMENT EXECUTE FUNCTION count_states()
        """,
        """
        CREATE TRIGGER job_went AFTER DELETE ON job REFERENCING OLD TABLE AS went
            FOR EACH STATEMENT EXECUTE FUNCTION count_states()
        """,
        // Creating the triggers above has locked the table against changes.
        "INSERT INTO tally (queue, state, number) SELECT queue, state, count(*) FROM job GROUP BY queue, state",
    ]

    private static let indexes = [
        "CREATE INDEX host_until ON host (queue, until)",
        "CREATE INDEX lane_in_order ON lane (queue, id)",
    ]

    // MARK: Pruning

    private static let stepsOfPruning = [
        // A pass over the lanes and the counts of running jobs: when it began, and the positions it has reached.
        """
        ALTER TABLE queue
            ADD COLUMN swept_at int8 NOT NULL DEFAULT 0,
            ADD COLUMN swept_lane int8 NOT NULL DEFAULT 0,
            ADD COLUMN swept_kind int8 NOT NULL DEFAULT -1,
            ADD COLUMN swept_name text COLLATE "C" NOT NULL DEFAULT ''
        """,
        // New databases never had it.
        "DROP FUNCTION IF EXISTS prune",
        // Removes up to p_step empty lanes and counts for hosts and users without running jobs, and corrects counts. A pass begins at most
        // once a minute. Returns whether the pass has more to do.
        """
        CREATE FUNCTION sweep(p_queue int8, p_now int8, p_step int8) RETURNS bool LANGUAGE plpgsql
        SET enable_seqscan = off SET enable_hashjoin = on SET enable_sort = on SET jit = off
        SET plan_cache_mode = force_custom_plan AS $$
        DECLARE
            v_queue queue;
            v_lanes int8[];
            v_kinds int8[];
            v_names text[];
            v_is_done bool := true;
        BEGIN
            SELECT * INTO v_queue FROM queue WHERE number = p_queue;
            IF v_queue.swept_kind < 0 THEN
                IF p_now BETWEEN v_queue.swept_at AND v_queue.swept_at + 59999 THEN RETURN false; END IF;
                v_queue.swept_at := p_now;
            END IF;
            v_lanes := ARRAY(
                SELECT id FROM lane WHERE queue = p_queue AND id > v_queue.swept_lane ORDER BY id LIMIT p_step);
            DELETE FROM lane WHERE id = ANY (v_lanes) AND NOT EXISTS (SELECT FROM head WHERE head.lane = lane.id);
            IF cardinality(v_lanes) > 0 THEN v_queue.swept_lane := v_lanes[cardinality(v_lanes)]; END IF;
            v_is_done := cardinality(v_lanes) < p_step;
            SELECT array_agg(kind), array_agg(name) INTO v_kinds, v_names FROM (
                SELECT kind, name FROM running
                WHERE queue = p_queue AND (kind, name) > (v_queue.swept_kind, v_queue.swept_name)
                ORDER BY kind, name LIMIT p_step) AS swept;
            IF v_kinds IS NOT NULL THEN
                WITH found AS MATERIALIZED (
                    SELECT of.kind, of.name, count(*) AS number FROM job
                    CROSS JOIN LATERAL (VALUES (0::int8, ''), (1, host), (2, charged)) AS of (kind, name)
                    WHERE queue = p_queue AND state = \(running) GROUP BY of.kind, of.name)
                UPDATE running SET number = now.number
                    FROM (SELECT kind, name, coalesce(found.number, 0) AS number
                        FROM unnest(v_kinds, v_names) AS swept (kind, name) LEFT JOIN found USING (kind, name)) AS now
                    WHERE running.queue = p_queue AND running.kind = now.kind AND running.name = now.name
                        AND running.number <> now.number;
                DELETE FROM running USING unnest(v_kinds, v_names) AS swept (kind, name)
                    WHERE running.queue = p_queue AND running.kind = swept.kind AND running.name = swept.name
                        AND running.kind > 0 AND running.number = 0;
                v_queue.swept_kind := v_kinds[cardinality(v_kinds)];
                v_queue.swept_name := v_names[cardinality(v_names)];
                v_is_done := v_is_done AND cardinality(v_kinds) < p_step;
            END IF;
            -- A pass with more to do has a kind.
            IF v_is_done THEN
                v_queue.swept_lane := 0; v_queue.swept_kind := -1; v_queue.swept_name := '';
            ELSIF v_queue.swept_kind < 0 THEN
                v_queue.swept_kind := 0;
            END IF;
            UPDATE queue SET swept_at = v_queue.swept_at, swept_lane = v_queue.swept_lane, swept_kind = v_queue.swept_kind,
                    swept_name = v_queue.swept_name
                WHERE number = p_queue;
            RETURN NOT v_is_done;
        END $$
        """,
        // Removes at most p_step ended jobs that are too old or too many, oldest first; at most four times as many events, keeping the last
        // p_events; and hosts without reports for p_memory. Returns whether there is more to do.
        """
        CREATE FUNCTION prune(
            p_queue int8, p_now int8, p_age int8, p_count int8, p_events int8, p_memory int8, p_step int8
        ) RETURNS bool LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
            v_many int8 := (SELECT coalesce(sum(number), 0) FROM tally WHERE queue = p_queue AND state IN (\(ended)));
            v_gone int8[];
            v_old int8[];
            v_first int8;
            v_last int8;
            v_end int8;
            v_hosts int8;
        BEGIN
            v_gone := ARRAY(SELECT id FROM job WHERE queue = p_queue AND state IN (\(ended))
                ORDER BY ended, id LIMIT least(greatest(v_many - greatest(p_count, 0), 0), p_step));
            v_old := ARRAY(SELECT id FROM job WHERE queue = p_queue AND state IN (\(ended)) AND ended < v_now - p_age
                ORDER BY ended, id LIMIT p_step);
            IF cardinality(v_old) > cardinality(v_gone) THEN v_gone := v_old; END IF;
            v_last := coalesce(\(lastEvent), 0);
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, v_last + place, v_now, id, 'removed', '', ''
                FROM unnest(v_gone) WITH ORDINALITY AS gone (id, place);
            PERFORM delete_jobs(p_queue, v_gone);
            v_last := v_last + cardinality(v_gone);
            v_first := coalesce((SELECT number FROM event WHERE queue = p_queue ORDER BY number LIMIT 1), 1);
            v_end := least(v_last - p_events, v_first - 1 + 4 * p_step);
            DELETE FROM event WHERE queue = p_queue AND number <= v_end;
            WITH old AS MATERIALIZED (
                SELECT queue, name FROM host WHERE queue = p_queue AND until < v_now - p_memory ORDER BY until LIMIT p_step)
            DELETE FROM host USING old WHERE host.queue = old.queue AND host.name = old.name;
            GET DIAGNOSTICS v_hosts = ROW_COUNT;
            IF cardinality(v_gone) = p_step OR v_end < v_last - p_events OR v_hosts = p_step THEN RETURN true; END IF;
            RETURN sweep(p_queue, v_now, p_step);
        END $$
        """,
    ]

    // MARK: Changes and claims

    /// Functions that version 1 already had, in their current form.
    private static let changedFunctions = settleFunctions.map(replacing)

    static let settleFunctions = settlementFunctions.filter { $0.contains("CREATE FUNCTION settle(") }

    private static let otherFunctions = [changeFunction, releaseFunction]

    static let changeFunction =
        // Cancels or pauses, and returns the jobs with the effect on each (see cancel). Stopped jobs come with their downloads.
        """
        CREATE FUNCTION change(p_queue int8, p_now int8, p_change text, \(selection))
        RETURNS TABLE (
            job int8, effect int8, id int8, url text, directory text, name text, rank int8, state int8, failures int8,
            not_before int8, bytes int8, message text, error text, charged text, is_cancelled bool, members json,
            checksum text, mirrors text
        ) LANGUAGE plpgsql SET jit = off SET plan_cache_mode = force_custom_plan AS $$
        #variable_conflict use_column
        DECLARE
            v_jobs int8[];
            v_effects int8[];
        BEGIN
            IF p_change = 'cancel' THEN
                SELECT array_agg(changed.job), array_agg(changed.effect) INTO v_jobs, v_effects
                    FROM cancel(p_queue, p_now, \(selected)) AS changed;
            ELSE
                SELECT array_agg(changed.job), array_agg(changed.effect) INTO v_jobs, v_effects
                    FROM pause(p_queue, p_now, \(selected)) AS changed;
            END IF;
            RETURN QUERY SELECT changed.job, changed.effect, download.id, download.url, download.directory, download.name,
                    download.rank, download.state, download.failures, download.not_before, download.bytes, download.message,
                    download.error, download.charged, download.is_cancelled, download.members, download.checksum,
                    download.mirrors
                FROM unnest(v_jobs, v_effects) AS changed (job, effect)
                LEFT JOIN LATERAL (SELECT * FROM download
                    WHERE download.queue = p_queue AND download.id = changed.job AND changed.effect = 0 OFFSET 0)
                    AS download ON true;
        END $$
        """

    private static let releaseFunction =
        // Releases the jobs of claims whose responses were lost. Their tokens follow the ones in p_tokens, at most p_counts for each. No
        // worker has started them.
        """
        CREATE FUNCTION release_claims(p_queue int8, p_now int8, p_worker text, p_tokens int8[], p_counts int8[])
        RETURNS void LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[];
            v_tokens int8[];
            v_none int8[];
        BEGIN
            SELECT array_agg(id), array_agg(token) INTO v_jobs, v_tokens FROM (\(jobsOfWorker)) AS held
                WHERE EXISTS (SELECT FROM unnest(p_tokens, p_counts) AS lost (token, number)
                    WHERE held.token > lost.token AND held.token <= lost.token + lost.number);
            IF v_jobs IS NULL THEN RETURN; END IF;
            v_none := array_fill(NULL::int8, ARRAY[cardinality(v_jobs)]);
            PERFORM settle(p_queue, p_now, false, v_jobs, v_tokens, array_fill(0::int8, ARRAY[cardinality(v_jobs)]), v_none,
                array_fill(NULL::text, ARRAY[cardinality(v_jobs)]), array_fill(NULL::text, ARRAY[cardinality(v_jobs)]),
                array_fill(0::int8, ARRAY[cardinality(v_jobs)]), v_none, v_none);
            PERFORM wake(p_queue);
        END $$
        """
}
#endif
