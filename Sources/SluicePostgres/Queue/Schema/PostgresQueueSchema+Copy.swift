#if PostgreSQL
extension PostgresQueueSchema {
    /// Jobs that come from another queue.
    static let copyFunctions = [
        // Adds a job with its members, or its members to another job. Members that the other job has already aren't changed.
        """
        CREATE FUNCTION copy_one(
            p_queue int8, p_now int8, p_new int8, p_url text, p_directory text, p_name text, p_target bytea, p_host text,
            p_place text, p_is_unresolved bool, p_failures int8, p_users text[], p_batches text[], p_priorities int8[],
            p_paused bool[], OUT id int8, OUT outcome int8, OUT other text
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_known member[];
            v_one member;
        BEGIN
            SELECT array_agg(member) INTO v_known FROM (
                SELECT job.id FROM job WHERE sha256(target) = sha256(p_target)
                    AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND url = p_url AND state IN (0, 1, 5, 6) AND NOT is_cancelled) AS same
                CROSS JOIN LATERAL (SELECT * FROM member WHERE queue = p_queue AND job = same.id OFFSET 0) AS member;
            v_known := coalesce(v_known, '{}');
            SELECT added.id, added.outcome, added.other INTO id, outcome, other FROM enqueue_one(
                p_queue, p_now, p_batches[1], true, p_new, p_url, p_directory, p_name, p_target, p_host, p_place,
                p_is_unresolved, p_users[1], p_priorities[1]) AS added;
            IF outcome > 1 THEN RETURN; END IF;
            PERFORM leave_lines(p_queue, ARRAY[id]);
            FOR i IN 1 .. cardinality(p_users) LOOP
                CONTINUE WHEN EXISTS (
                    SELECT FROM unnest(v_known) AS known WHERE known.user_name = p_users[i] AND known.batch = p_batches[i]);
                -- Enqueuing has recorded the first one.
                IF i > 1 THEN
                    PERFORM join_members(p_queue, p_batches[i], ARRAY[id], ARRAY[p_users[i]], ARRAY[p_priorities[i]]);
                    PERFORM record(p_queue, p_now, id, 'joined', p_users[i], p_batches[i]);
                END IF;
                UPDATE member SET priority = p_priorities[i], is_paused = p_paused[i]
                    WHERE queue = p_queue AND job = copy_one.id AND user_name = p_users[i] AND batch || '' = p_batches[i];
            END LOOP;
            -- Enqueuing resumes a member.
            FOREACH v_one IN ARRAY v_known LOOP
                UPDATE member SET priority = v_one.priority, is_paused = v_one.is_paused
                    WHERE queue = p_queue AND job = copy_one.id AND position = v_one.position;
            END LOOP;
            PERFORM record_all(p_queue, p_now, members_changed(p_queue, ARRAY[id]));
            IF outcome = 0 THEN
                UPDATE job SET failures = p_failures WHERE queue = p_queue AND job.id = copy_one.id;
            END IF;
        END $$
        """,
        // Adds jobs in their order. The members of all jobs follow one another; p_counts has their number for each job.
        """
        CREATE FUNCTION copy(
            p_queue int8, p_now int8, p_urls text[], p_directories text[], p_names text[], p_targets bytea[], p_hosts text[],
            p_places text[], p_unresolved bool[], p_failures int8[], p_counts int8[], p_users text[], p_batches text[],
            p_priorities int8[], p_paused bool[]
        ) RETURNS TABLE (id int8, outcome int8, other text) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_last int8 := (SELECT last_job FROM queue WHERE number = p_queue);
            v_from int8 := 1;
            v_to int8;
            v_gains bool := false;
        BEGIN
            FOR i IN 1 .. cardinality(p_urls) LOOP
                v_to := v_from + p_counts[i] - 1;
                SELECT one.id, one.outcome, one.other INTO id, outcome, other FROM copy_one(
                    p_queue, v_now, v_last + 1, p_urls[i], p_directories[i], p_names[i], p_targets[i], p_hosts[i], p_places[i],
                    p_unresolved[i], p_failures[i], p_users[v_from:v_to], p_batches[v_from:v_to],
                    p_priorities[v_from:v_to], p_paused[v_from:v_to]) AS one;
                IF outcome = 0 THEN v_last := v_last + 1; END IF;
                v_gains := v_gains OR outcome < 2;
                v_from := v_to + 1;
                RETURN NEXT;
            END LOOP;
            UPDATE queue SET last_job = v_last WHERE number = p_queue;
            IF v_gains THEN PERFORM wake(p_queue); END IF;
        END $$
        """,
    ]
}
#endif
